-- parked_ahead: returns the row ids of the next parked jobs of a limit and priority, behind its mark, in the order in
-- which they are released: `most` of them.
create or replace function errand_internal.parked_ahead(limit_key text, priority smallint, most int default 1000)
returns tid[]
language plpgsql stable set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
begin
    return array(
        select near.ctid
        from (select) as one
        left join lateral (
            select existing.run_at, existing.job_id
            from errand.limit_mark as existing
            where existing.limit_key = parked_ahead.limit_key and existing.priority = parked_ahead.priority
            order by existing.marked_at desc
            limit 1
        ) as mark on true
        cross join lateral (
            select waiting.ctid
            from errand.job as waiting
            where waiting.parked_for = 'limit:' || parked_ahead.limit_key and waiting.priority = parked_ahead.priority
                and (waiting.run_at, waiting.id) > (coalesce(mark.run_at, '-infinity'), coalesce(mark.job_id, 0))
            order by waiting.run_at, waiting.id
            limit parked_ahead.most
        ) as near);
end
$$;
