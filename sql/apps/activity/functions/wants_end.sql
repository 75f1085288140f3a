-- wants_end: the guard of the job activity_end: whether the activity still has to be ended. In the transaction that ends it,
-- it has, so that the job counts as done there and not as unwanted.
create or replace function activity.wants_end(payload jsonb) returns boolean
language sql stable set search_path = pg_catalog, activity, pg_temp as $$
    select ended_at is null or ended_in = pg_current_xact_id_if_assigned()
    from activity.activity
    where id = (payload ->> 'activity')::uuid
$$;
comment on function activity.wants_end(jsonb) is 'The guard of the job activity_end: whether the activity is still to be ended';
