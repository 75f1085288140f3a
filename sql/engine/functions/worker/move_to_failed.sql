-- move_to_failed: moves one job, as given, from errand.job to errand.failed.
--
-- The payload goes with it, so a failure does not keep a day of errand.payload for 30 days. Every failure comes here:
-- this enqueues the job that the kind wants for it, and tells the jobs that wait for it
-- (errand_internal.parents_ended). A job that blocks its order key keeps its slot; otherwise the next one of the key
-- may run (errand_internal.order_ended).
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
    if job.options ? 'batch' then
        perform errand_internal.note_unsuccessful(
            array[job.id], array[(job.options ->> 'batch')::bigint], 'failed');
    end if;
    perform errand_internal.parents_ended(array[job.id]);
    if job.options ? 'order_key' and job.options ->> 'if_head_fails' = 'block' then
        update errand.order_slot
        set blocked_at = now()
        where order_key = (
            select slot.order_key
            from errand.order_slot as slot
            where slot.order_key = job.options ->> 'order_key' and slot.job_id = job.id
            for update skip locked);
        if not found then
            insert into errand.order_check (order_key) values (job.options ->> 'order_key');
        end if;
    elsif job.options ? 'order_key' then
        perform errand_internal.order_ended(array[job.options ->> 'order_key'], array[job.id]);
    end if;
    perform errand_internal.enqueue_on_failure(job.id);
end
$$;
