-- end_batch: ends a closed batch if none of its jobs is left, and enqueues its callbacks. is_more says that there is
-- more to do at once. is_again says that the batch must be checked once more: other transactions may hide what there is
-- to do, or it was ended here, which isn't committed.
--
-- An enqueue that has seen the batch open may commit after the close. So the transactions that write to
-- errand.batch_jobs when the batch is first seen closed are waited for. Later enqueues lock the batch's row, as do
-- those that bring a job back. So under that lock, what is seen is all, and the mark may move up to the first
-- unfinished job. Without a move of 500 ids nothing is written and nothing locked.
create or replace function errand_internal.end_batch(
    batch_id bigint, out is_more boolean, out is_again boolean
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    most constant int := 2000;
    existing errand.batch;
    mark bigint;
    probe record;
    counted record;
begin
    is_more := false;
    is_again := false;
    select * into existing from errand.batch where id = end_batch.batch_id and ended_at is null;
    if existing.id is null or existing.writers is not null and exists (
        select from unnest(existing.writers) as writer where not pg_visible_in_snapshot(writer, pg_current_snapshot()))
    then
        is_again := existing.id is not null;
        return;
    end if;
    mark := errand_internal.mark_of_batch(end_batch.batch_id);
    select * into probe from errand_internal.probe_batch(end_batch.batch_id, mark, most);
    if probe.is_left and probe.at < mark + 500 and existing.writers is not null then
        return;
    end if;
    select * into existing
    from errand.batch
    where id = end_batch.batch_id and ended_at is null
    for update skip locked;
    if not found then
        is_again := true;
        return;
    elsif existing.writers is null then
        existing.writers := errand_internal.writers_of('errand.batch_jobs');
        update errand.batch set writers = existing.writers where id = existing.id;
        if existing.writers <> '{}' then
            is_again := true;
            return;
        end if;
    end if;
    -- Once more: now nobody brings a job back or adds one.
    mark := errand_internal.mark_of_batch(existing.id);
    select * into probe from errand_internal.probe_batch(existing.id, mark, most);
    if probe.at > mark then
        perform errand_internal.set_batch_mark(existing.id, probe.at);
    end if;
    if probe.is_left is distinct from false then
        is_more := probe.is_left is null;
        return;
    end if;
    select * into counted from errand_internal.batch_counts(existing.id);
    if counted.failed + counted.cancelled + counted.obsolete > 0 then
        existing.outcome := 'failed';
        if existing.failure_job_id is null then
            existing.failure_job_id := errand_internal.enqueue_callback(existing, existing.on_failure, 'failure');
        end if;
    else
        existing.outcome := 'succeeded';
        existing.success_job_id := errand_internal.enqueue_callback(existing, existing.on_success, 'success');
    end if;
    existing.finish_job_id := errand_internal.enqueue_callback(existing, existing.on_finish, 'finish');
    update errand.batch
    set ended_at = clock_timestamp(), total = counted.total, outcome = existing.outcome,
        success_job_id = existing.success_job_id, finish_job_id = existing.finish_job_id,
        failure_job_id = existing.failure_job_id
    where id = existing.id;
    is_again := true;
end
$$;
