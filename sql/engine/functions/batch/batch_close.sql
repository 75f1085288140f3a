-- batch_close: says that the batch is complete: it ends once none of its jobs is left, at once if it has none. Returns
-- whether it was open.
--
--   select errand.batch_close(4711);
--
-- Until it ends, jobs may still be added, such as by its own jobs. Raises ER404 if there is no such batch, or none that
-- the login may use.
-- errand: for enqueuer, worker, ops
-- errand: topic batches
create or replace function errand.batch_close(batch_id bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    existing errand.batch;
begin
    existing := errand_internal.find_batch('batch_close: batch_id', batch_close.batch_id, locks => true);
    if existing.closed_at is not null then
        return false;
    end if;
    update errand.batch set closed_at = now() where id = existing.id;
    perform errand_internal.batch_moved();
    return true;
end
$$;
