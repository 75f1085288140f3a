-- tell_batch_failure: enqueues the callback of a batch for its first job without success, unless that was done. A batch
-- that another session has locked comes later.
create or replace function errand_internal.tell_batch_failure(batch_id bigint) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    existing errand.batch;
begin
    select * into existing
    from errand.batch
    where id = tell_batch_failure.batch_id and failure_job_id is null
    for update skip locked;
    -- Unless the job was retried meanwhile.
    if found and exists (select from errand.batch_failure where batch_id = existing.id) then
        update errand.batch
        set failure_job_id = errand_internal.enqueue_callback(existing, existing.on_failure, 'failure')
        where id = existing.id;
    end if;
end
$$;
