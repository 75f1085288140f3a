-- prune_v1: deletes devices that were retired 30 days ago, and changes from 30 days ago. At most max_rows of each;
-- returns their numbers.
create or replace function devices.prune_v1(max_rows int default 1000) returns table (devices int, changes int)
language sql security definer set search_path = pg_catalog, devices, pg_temp as $$
    with gone as (
        delete from devices.device
        where id = any (array(
            select id
            from devices.device
            where retired_at <= now() - interval '30 days'
            order by retired_at
            limit max_rows
            for update skip locked))
            and retired_at <= now() - interval '30 days'
        returning id
    ),
    past as (
        delete from devices.change
        where id = any (array(
            select id
            from devices.change
            where at <= now() - interval '30 days'
            order by at
            limit max_rows
            for update skip locked))
        returning id
    )
    select (select count(*) from gone)::int, (select count(*) from past)::int
$$;
