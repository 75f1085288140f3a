-- batch_retry: retries the jobs of a batch that failed or were cancelled, but for discarded ones: lowest ids first, at
-- most max_jobs in a call (1 to 100,000). Returns how many: call it until it returns 0. A dry run only counts them.
--
--   select errand.batch_retry(4711, reason => 'the bucket is back', dry_run => true);
--   select errand.batch_retry(4711, reason => 'the bucket is back');
--
-- If the batch has not ended, it goes on with them. If it has, its callbacks are not enqueued again. A job that is no
-- longer on record stays as it is. Raises ER422 without a reason, ER404 if there is no such batch, or none that the
-- login may use, and ER409 if another unfinished job has the unique key of one of them.
-- errand: for enqueuer, ops
-- errand: topic batches
create or replace function errand.batch_retry(
    batch_id bigint, reason text, max_jobs int default 10000, dry_run boolean default false
) returns bigint
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off
set enable_mergejoin = off as $$
#variable_conflict use_column
declare
    chosen bigint[];
    action_id bigint;
begin
    perform errand_internal.check_reason('batch_retry', batch_retry.reason);
    perform errand_internal.check_bound('batch_retry', batch_retry.max_jobs);
    perform errand_internal.find_batch('batch_retry: batch_id', batch_retry.batch_id);
    chosen := array(
        select job_id
        from errand.batch_failure
        where batch_id = batch_retry.batch_id and state in ('failed', 'cancelled')
            and (exists (select from errand.failed where id = job_id)
                or exists (select from errand.history where id = job_id and history.state = 'cancelled'))
        order by job_id
        limit batch_retry.max_jobs);
    if not dry_run and chosen <> '{}' then
        action_id := nextval('errand.action_id_seq');
        chosen := errand_internal.requeue_jobs(
            'batch_retry', chosen, array_fill(null::timestamptz, array[cardinality(chosen)]), action_id);
        perform errand_internal.record_action(
            'batch_retry', jsonb_build_object('batch', batch_retry.batch_id), batch_retry.reason, chosen, action_id);
    end if;
    return cardinality(chosen);
end
$$;
