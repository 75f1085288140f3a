-- prune_v1: deletes activities that were over 30 days ago, with their records. Returns their number.
create or replace function activity.prune_v1(max_activities int default 1000) returns int
language sql security definer set search_path = pg_catalog, activity, pg_temp as $$
    with gone as (
        delete from activity.activity
        where id = any (array(
            select id
            from activity.activity
            where ended_at <= now() - interval '30 days'
            order by ended_at
            limit max_activities))
        returning id
    )
    select count(*)::int from gone
$$;
