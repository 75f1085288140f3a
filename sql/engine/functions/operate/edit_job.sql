-- edit_job: replaces the payload of a job that waits or has failed. The job keeps its id, state, time and attempts.
--
--   select errand.edit_job(4711, '{"photo": "6c1d…"}', reason => 'the import wrote the wrong id');
--
-- A scheduled, available or parked job runs with the new payload. So does a failed one, once errand.retry enqueues it
-- again. Returns the job's state. errand.audit has the reason and the job, and neither the old nor the new payload:
-- errand.audit_changes keeps the old one for 7 days, for errand.undo.
--
-- An available job keeps its position and comes first in its priority. While this transaction holds its row, a claim
-- may pass it and raise its mark. Only the index of handed-back jobs leads a later claim below that mark.
--
-- Raises ER404 for an unknown job, ER409 with its state for one that runs or has ended otherwise, ER413 for a payload
-- over 256 KB as text, and ER422 without a payload or a reason.
-- errand: for ops
-- errand: topic retry
create or replace function errand.edit_job(job_id bigint, payload jsonb, reason text) returns text
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    found_state text;
    action_id constant bigint := nextval('errand.action_id_seq');
begin
    perform errand_internal.check_reason('edit_job', edit_job.reason);
    perform errand_internal.check_job('edit_job', edit_job.payload, null, null, null, null, 'edit_job');
    loop
        -- In the order in which all sessions lock jobs.
        select 'failed' into found_state from errand.failed where id = edit_job.job_id for update;
        exit when found;
        select state into found_state from errand.job where id = edit_job.job_id for update;
        exit when found;
        found_state := errand_internal.state_of(edit_job.job_id);
        -- Otherwise the job has failed or was retried since the first of the two was read.
        exit when found_state is null or found_state in ('succeeded', 'cancelled', 'obsolete');
    end loop;
    if found_state is null then
        raise exception 'edit_job: job_id: expected a job on record, got %', coalesce(edit_job.job_id::text, 'null')
            using errcode = 'ER404';
    elsif found_state not in ('scheduled', 'available', 'parked', 'failed') then
        raise exception 'edit_job: job %: expected one that waits or has failed, got one that is %', edit_job.job_id,
            found_state
            using errcode = 'ER409',
            hint = case found_state
                when 'running' then 'Cancel it, retry it for later, then edit it.'
                when 'cancelled' then format(
                    'select * from errand.retry_job(%s, run_at => now() + interval ''1 hour'') makes it wait again.',
                    edit_job.job_id)
                else 'Enqueue a new job.'
            end;
    end if;
    perform errand_internal.note_jobs(
        action_id, array[edit_job.job_id], in_table, in_table,
        became => array[jsonb_build_object('payload_md5', md5(edit_job.payload::text))])
    from (select case found_state when 'failed' then 'failed' else 'job' end as in_table) as found;
    if found_state = 'failed' then
        update errand.failed set payload = edit_job.payload where id = edit_job.job_id;
    else
        update errand.job
        set payload = edit_job.payload, is_handed_back = case when state = 'available' then true else is_handed_back end
        where id = edit_job.job_id;
        perform errand_internal.wake();
    end if;
    perform errand_internal.record_action(
        'edit_job', jsonb_build_object('id', edit_job.job_id), edit_job.reason, array[edit_job.job_id],
        action_id);
    return found_state;
end
$$;
