-- batch_counts: counts the jobs of a batch: all, those that have not ended, and those that ended without success.
--
-- At most `most` that have not ended are counted, some 0.3 us each, and as many without success. By default none of the
-- former are counted, and all of the latter.
--
-- ended is the number of those that have ended, at least: if not all others are counted, the jobs behind the last
-- counted one are taken as unfinished.
--
-- A discarded job counts as cancelled.
-- errand: for ops, monitor
create or replace function errand_internal.batch_counts(
    batch_id bigint, most bigint default 0, out total bigint, out waiting bigint, out failed bigint,
    out cancelled bigint, out obsolete bigint, out ended bigint
)
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    mark bigint;
    upto bigint;
begin
    total := coalesce(
        (select batch.total from errand.batch where id = batch_counts.batch_id),
        (select sum(last_id - first_id + 1) from errand.batch_jobs where batch_id = batch_counts.batch_id), 0);
    if most > 0 then
        mark := errand_internal.mark_of_batch(batch_counts.batch_id);
        select count(*), max(id) into waiting, upto
        from (
            select live.id
            from (
                select *
                from errand.batch_jobs
                where batch_id = batch_counts.batch_id and last_id >= mark
                order by last_id
            ) as span
            cross join lateral (
                select id
                from errand.job
                where id between greatest(span.first_id, mark) and span.last_id
                order by id
                offset 0) as live
            limit most) as unfinished;
        ended := case
            when waiting < most then total
            else (
                select sum(least(last_id, upto) - first_id + 1)
                from errand.batch_jobs
                where batch_id = batch_counts.batch_id and first_id <= upto)
        end - waiting;
    end if;
    select
        count(*) filter (where state = 'failed'), count(*) filter (where state in ('cancelled', 'discarded')),
        count(*) filter (where state = 'obsolete')
    into failed, cancelled, obsolete
    from (
        select state
        from errand.batch_failure
        where batch_id = batch_counts.batch_id
        order by job_id
        limit nullif(most, 0)) as unsuccessful;
end
$$;
