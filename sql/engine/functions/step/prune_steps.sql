-- prune_steps: for errand_internal.prune: deletes the steps of jobs that can't be retried any more: those that have
-- succeeded, are obsolete, or are gone. So their completion has nothing to delete.
--
-- A call reads up to 10,000 steps, from where the last one ended (errand.step_pruned), so it is short however many
-- steps are kept. Returns how many it read: fewer than 10,000 were the last ones, and the next call begins anew.
create or replace function errand_internal.prune_steps(out seen int, out removed int)
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    last constant bigint := coalesce(pg_sequence_last_value('errand.step_pruned'), 0);
    jobs bigint[];
begin
    select count(*), coalesce(array_agg(distinct job_id), '{}') into seen, jobs
    from (
        select job_id
        from errand.step
        where job_id > last
        order by job_id
        limit 10000) as next;
    delete from errand.step
    where ctid = any (array(
        select old.ctid
        from unnest(jobs) as ended(id)
        cross join lateral (select ctid from errand.step where job_id = ended.id for update skip locked) as old
        -- In one statement, or a job could move between two looks. No joins: the planner might read all jobs for them.
        where (select job.id from errand.job where job.id = ended.id) is null
            and (select failed.id from errand.failed where failed.id = ended.id) is null
            and (select history.id from errand.history where history.id = ended.id and state = 'cancelled' limit 1)
                is null));
    get diagnostics removed = row_count;
    perform setval('errand.step_pruned', case when seen = 10000 then max(id) else 1 end, seen = 10000)
    from unnest(jobs) as id;
end
$$;
