-- prune_slots: for errand_internal.prune: deletes slots of limits whose jobs have ended, up to 10,000 in a call.
-- Returns their number.
--
-- A call reads 100,000 slots, at 3 us each, from a random one on. So the cost has a bound however many jobs have slots,
-- and each slot is read in time.
create or replace function errand_internal.prune_slots() returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
    first_job bigint;
    removed int;
begin
    select min(job_id) + floor(random() * (max(job_id) - min(job_id)))::bigint into first_job from errand.limit_slot;
    delete from errand.limit_slot
    where ctid = any (array(
        select slot.ctid
        from errand.limit_slot as slot
        where slot.ctid = any (array(
            select near.ctid
            from (
                (select existing.*, existing.ctid from errand.limit_slot as existing
                where job_id >= first_job order by job_id)
                union all
                (select existing.*, existing.ctid from errand.limit_slot as existing
                where job_id < first_job order by job_id)
                limit 100000) as near
            where near.admitted_at < now() - interval '1 minute'
                -- No join: the planner might read all of errand.job for it.
                and (
                    select job.queue_position
                    from errand.job
                    where job.id = near.job_id and job.state in ('available', 'running')
                ) is distinct from near.queue_position
            limit 10000))
        for update skip locked));
    get diagnostics removed = row_count;
    return removed;
end
$$;
