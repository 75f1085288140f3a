-- enqueue_push: enqueues the job that sends the start or the newest content of an activity. A waiting job is enough,
-- and a running one checks again at its completion.
create or replace function activity.enqueue_push(activity uuid, ends_at timestamptz) returns void
language plpgsql set search_path = pg_catalog, activity, pg_temp as $$
begin
    perform errand.enqueue(
        'activity_push', jsonb_build_object('activity', enqueue_push.activity), queue => 'pushes',
        not_after => enqueue_push.ends_at, max_attempts => 30, unique_key => 'activity_push/' || enqueue_push.activity,
        subject => (select user_id from activity.activity as existing where existing.id = enqueue_push.activity));
end
$$;
