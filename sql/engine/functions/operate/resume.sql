-- resume: ends the pause of a queue.
--
--   select errand.resume('images');
--
-- Does nothing if the queue is not paused. Raises ER404 for a queue that no job, kind or worker has named.
-- errand: for ops
-- errand: topic pause
create or replace function errand.resume(queue text, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    update errand.queue
    set paused_at = null, paused_reason = null, paused_until = null, paused_by = null
    where name = resume.queue and paused_at is not null;
    if found then
        perform errand_internal.record_action('resume', jsonb_build_object('queue', resume.queue), resume.reason);
        perform errand_internal.wake();
    else
        perform errand_internal.check_known(
            'resume: queue', 'one that a job, a kind or a worker has named', resume.queue,
            errand_internal.known_queues());
    end if;
end
$$;
