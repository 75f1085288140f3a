-- limit_is_full: returns whether a job with this key would have to wait now. An estimate: the claim decides.
create or replace function errand_internal.limit_is_full(limit_key text) returns boolean
language plpgsql stable set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set plan_cache_mode = force_generic_plan as $$
declare
    most int := errand_internal.limit_of(limit_is_full.limit_key);
begin
    return most is not null and (
        most <= (select count(*) from errand_internal.taken_slots(limit_is_full.limit_key))
        or exists (
            -- Start behind the mark: the entries before it are those of released jobs.
            select
            from unnest('{1,2,3,4}'::smallint[]) as level
            left join lateral (
                select existing.run_at, existing.job_id
                from errand.limit_mark as existing
                where existing.limit_key = limit_is_full.limit_key and existing.priority = level
                order by existing.marked_at desc
                limit 1
            ) as mark on true
            cross join lateral (
                select
                from errand.job
                where parked_for = 'limit:' || limit_is_full.limit_key and priority = level
                    and (run_at, id) > (coalesce(mark.run_at, '-infinity'), coalesce(mark.job_id, 0))
                limit 1
            ) as near));
end
$$;
