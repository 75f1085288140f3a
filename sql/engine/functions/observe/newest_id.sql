-- newest_id: for errand.list_jobs: returns the highest id of a job below a bound, in whichever table it is; null if
-- there is none.
create or replace function errand_internal.newest_id(bound bigint default null) returns bigint
language sql stable set search_path = pg_catalog, errand, pg_temp set jit = off as $$
    select max(id)
    from (
        (select id from errand.job where id < coalesce(bound, 9223372036854775807) order by id desc limit 1)
        union all
        (select id from errand.failed where id < coalesce(bound, 9223372036854775807) order by id desc limit 1)
        union all
        (select id from errand.history where id < coalesce(bound, 9223372036854775807) order by id desc limit 1)
    ) as newest
$$;
