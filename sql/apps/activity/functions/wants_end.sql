-- wants_end: guard of the job activity_end: returns whether the activity still has to be ended. In the transaction that
-- ends it, the answer is yes, so that the job succeeds there instead of becoming obsolete.
create or replace function activity.wants_end(payload jsonb) returns boolean
language sql stable set search_path = pg_catalog, activity, pg_temp as $$
    select ended_at is null or ended_in = pg_current_xact_id_if_assigned()
    from activity.activity
    where id = (payload ->> 'activity')::uuid
$$;
