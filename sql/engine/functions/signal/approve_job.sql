-- approve_job: sends the signal that a parked job waits for, as errand.signal does, and records who did so and why.
--
--   select * from errand.approve_job(4711, 'the invoice is right', '{"approved": true}');
--
-- All jobs that wait for a signal of that name go on. Returns the job's state before and now; a job that waits for no
-- signal stays as it is. Raises ER404 for an unknown id, ER409 for a job whose endpoint is to call back, and as
-- errand.signal does.
-- errand: for ops
-- errand: topic signals
create or replace function errand.approve_job(id bigint, reason text default null, payload jsonb default '{}')
returns table (job_id bigint, was text, now text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    awaited constant text := (
        select substr(parked_for, length('signal:') + 1)
        from errand.job
        where job.id = any (errand_internal.one_job('approve_job', approve_job.id))
            and starts_with(parked_for, 'signal:'));
begin
    job_id := approve_job.id;
    was := errand_internal.state_of(job_id);
    if starts_with(awaited, 'callback/') then
        raise exception 'approve_job: expected a wait for a signal, got job %, whose endpoint is to call back', job_id
            using errcode = 'ER409', hint = 'errand.reschedule_job posts it again.';
    elsif awaited is not null and errand.signal(awaited, payload) then
        perform errand_internal.record_action(
            'approve', jsonb_build_object('ids', array[job_id], 'signal', awaited), reason, array[job_id]);
    end if;
    now := errand_internal.state_of(job_id);
    return next;
end
$$;
