-- batch_cancel: cancels the unfinished jobs of a batch, lowest ids first, at most max_jobs in a call (1 to 100,000).
-- Returns how many: call it until it returns 0. A dry run only counts them.
--
--   select errand.batch_cancel(4711, reason => 'wrong file', dry_run => true);
--   select errand.batch_cancel(4711, reason => 'wrong file');
--
-- Close the batch first, or it goes on with the jobs that are added later. A job that a worker is claiming or
-- completing is skipped. Cancelled jobs are no success: on_failure and on_finish are enqueued, and on_success isn't.
-- Raises ER422 without a reason, ER404 if there is no such batch, or none that the login may use.
-- errand: for enqueuer, ops
-- errand: topic batches
create or replace function errand.batch_cancel(
    batch_id bigint, reason text, max_jobs int default 10000, dry_run boolean default false
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    mark bigint;
    chosen bigint[];
    action_id bigint;
begin
    perform errand_internal.check_reason('batch_cancel', batch_cancel.reason);
    perform errand_internal.check_bound('batch_cancel', batch_cancel.max_jobs);
    perform errand_internal.find_batch('batch_cancel: batch_id', batch_cancel.batch_id);
    mark := errand_internal.mark_of_batch(batch_cancel.batch_id);
    chosen := array(
        select live.id
        from (
            select * from errand.batch_jobs where batch_id = batch_cancel.batch_id and last_id >= mark order by last_id
        ) as span
        cross join lateral (
            select id
            from errand.job
            where id between greatest(span.first_id, mark) and span.last_id
            order by id
            offset 0) as live
        limit batch_cancel.max_jobs);
    if dry_run then
        return cardinality(chosen);
    end if;
    action_id := nextval('errand.action_id_seq');
    chosen := coalesce(
        (select ids from errand_internal.cancel_jobs(chosen, null, batch_cancel.reason, action_id)), '{}');
    if chosen <> '{}' then
        perform errand_internal.parents_ended(chosen);
        perform errand_internal.record_action(
            'batch_cancel', jsonb_build_object('batch', batch_cancel.batch_id), batch_cancel.reason, chosen,
            action_id);
    end if;
    return cardinality(chosen);
end
$$;
