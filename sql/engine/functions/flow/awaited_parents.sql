-- awaited_parents: returns the jobs that others wait for, ended ones too: they stay in this cell, and on record.
create or replace function errand_internal.awaited_parents() returns bigint[]
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    if not errand_internal.any_waits_for_jobs() then
        return '{}';
    end if;
    return array(
        select distinct parent::bigint
        from errand.job
        cross join lateral jsonb_array_elements_text(options -> 'after') as parent
        -- From job:1 to job:9…, in any collation.
        where parked_for > 'job:' and parked_for < 'job:A');
end
$$;
