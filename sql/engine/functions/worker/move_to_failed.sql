-- move_to_failed: moves one job, as given, from errand.job to errand.failed.
--
-- The payload goes with it, so a failure does not keep a day of errand.payload for 30 days. Every failure comes here:
-- this enqueues the job that the kind wants for it, and tells the jobs that wait for it
-- (errand_internal.parents_ended).
create or replace function errand_internal.move_to_failed(job errand.job, error text) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    delete from errand.job as live where live.id = job.id;
    insert into errand.failed (id, :request_columns, :attempt_columns, attempts, payload, error)
    select
        id, :request_head, coalesce(unique_key, waiting_key), :request_tail, :attempt_columns, attempts,
        coalesce(payload, errand_internal.take_payload(payload_day, id)),
        left(coalesce(move_to_failed.error, 'no reason given'), 4000)
    from (select job.*) as given;
    perform errand_internal.parents_ended(array[job.id]);
    perform errand_internal.enqueue_on_failure(job.id);
end
$$;
