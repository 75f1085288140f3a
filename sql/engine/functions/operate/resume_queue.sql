-- resume_queue: ends the pause of a queue.
--
--   select errand.resume_queue('images');
--
-- Does nothing if the queue is not paused. Raises ER404 for a queue that no job, kind or worker has named.
-- errand: for ops
-- errand: topic pause
create or replace function errand.resume_queue(queue text, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    key constant jsonb := jsonb_build_object('name', resume_queue.queue);
    was constant jsonb := errand_internal.setting('queue', key);
begin
    update errand.queue
    set paused_at = null, paused_reason = null, paused_until = null, paused_by = null
    where name = resume_queue.queue and paused_at is not null;
    if found then
        perform errand_internal.note_setting(
            errand_internal.record_action(
                'resume_queue', jsonb_build_object('queue', resume_queue.queue), resume_queue.reason),
            'queue', key, was);
        perform errand_internal.wake();
    else
        perform errand_internal.check_known(
            'resume_queue: queue', 'one that a job, a kind or a worker has named', resume_queue.queue,
            errand_internal.known_queues());
    end if;
end
$$;
