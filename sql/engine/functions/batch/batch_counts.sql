-- batch_counts: counts the jobs of a batch: all, those that have not ended, and those that ended without success. Of
-- those that have not ended, at most `most` are counted: some 0.3 us each.
--
-- A discarded job counts as cancelled.
-- errand: for ops, monitor
create or replace function errand_internal.batch_counts(
    batch_id bigint, most bigint default 0, out total bigint, out waiting bigint, out failed bigint,
    out cancelled bigint, out obsolete bigint
)
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    mark bigint;
begin
    total := coalesce(
        (select batch.total from errand.batch where id = batch_counts.batch_id),
        (select sum(last_id - first_id + 1) from errand.batch_jobs where batch_id = batch_counts.batch_id), 0);
    if most > 0 then
        mark := errand_internal.mark_of_batch(batch_counts.batch_id);
        waiting := (
            select count(*)
            from (
                select
                from errand.batch_jobs as span
                cross join lateral (
                    select from errand.job where id between greatest(span.first_id, mark) and span.last_id offset 0
                ) as live
                where span.batch_id = batch_counts.batch_id and span.last_id >= mark
                limit most) as unfinished);
    end if;
    select
        count(*) filter (where state = 'failed'), count(*) filter (where state in ('cancelled', 'discarded')),
        count(*) filter (where state = 'obsolete')
    into failed, cancelled, obsolete
    from errand.batch_failure
    where batch_id = batch_counts.batch_id;
end
$$;
