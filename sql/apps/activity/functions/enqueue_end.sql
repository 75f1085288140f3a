-- enqueue_end: enqueues the job that ends an activity, or moves its existing job to that time. Returns the job's id.
--
-- The job never starts at the 8 hours or later, and only while the activity is not over: see activity.wants_end.
create or replace function activity.enqueue_end(activity uuid, run_at timestamptz, ends_at timestamptz) returns bigint
language plpgsql set search_path = pg_catalog, activity, pg_temp as $$
begin
    return (
        select job_id
        from errand.enqueue(
            'activity_end', jsonb_build_object('activity', enqueue_end.activity), queue => 'pushes',
            run_at => enqueue_end.run_at, not_after => enqueue_end.ends_at, priority => 1, max_attempts => 30,
            unique_key => 'activity_end/' || enqueue_end.activity, on_conflict => 'reschedule',
            guard => 'activity_wants_end',
            subject => (select user_id from activity.activity as existing where existing.id = enqueue_end.activity)));
end
$$;
