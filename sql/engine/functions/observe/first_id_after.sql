-- first_id_after: for errand.list_jobs: returns an id below which hardly any job was created after that time, among the
-- ids below a bound and of the cell of the highest one.
--
-- Ids of a cell grow with the time of the enqueue, so a bisection finds the place with some 15 probes of each table. It
-- is not exact, since transactions commit in another order than they begin: errand.list_jobs starts there, and filters.
create or replace function errand_internal.first_id_after(moment timestamptz, bound bigint default null) returns bigint
language plpgsql stable set search_path = pg_catalog, errand, pg_temp set jit = off as $$
declare
    high bigint := coalesce(errand_internal.newest_id(bound), 0) + 1;
    -- Jobs that came from another cell keep their ids, and are of any age.
    low bigint := (high - 1) >> 43 << 43;
    middle bigint;
    created timestamptz;
begin
    while high - low > 512 loop
        middle := low + (high - low) / 2;
        select near.created_at into created
        from (
            (select id, created_at from errand.job where id <= middle order by id desc limit 1)
            union all
            (select id, created_at from errand.failed where id <= middle order by id desc limit 1)
            union all
            (select id, created_at from errand.history where id <= middle order by id desc limit 1)
            order by id desc
            limit 1) as near;
        if not found or created <= first_id_after.moment then
            low := middle;
        else
            high := middle;
        end if;
    end loop;
    return high;
end
$$;
