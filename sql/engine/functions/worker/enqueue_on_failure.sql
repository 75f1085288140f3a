-- enqueue_on_failure: enqueues the job that the kind of a job wants for its failure (errand.put_kind), if any. It has
-- the tags, the subject and the trace of the failed job. For errand_internal.move_to_failed.
--
-- None is enqueued for the failure of such a job itself. A payload that no enqueue could have brought is left out.
create or replace function errand_internal.enqueue_on_failure(job_id bigint) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    failed errand.failed;
    wanted text;
    added bigint;
begin
    select existing.* into failed from errand.failed as existing where existing.id = job_id;
    wanted := (select on_failure from errand.kind where kind.name = failed.kind);
    if wanted is null or (failed.options ? 'failure_of') is true then
        return;
    end if;
    added := (
        select inserted.job_id
        from errand_internal.insert_job(
            wanted,
            jsonb_build_object(
                'job_id', failed.id, 'kind', failed.kind, 'queue', failed.queue, 'attempt', failed.attempt,
                'error', failed.error,
                'payload', case when pg_column_size(failed.payload) <= 4194304 then failed.payload end),
            null, null, null, null, null, null, 'keep', null, null, failed.tags, failed.subject,
            case
                when failed.options ? 'traceparent'
                    then jsonb_build_object('traceparent', failed.options -> 'traceparent')
            end,
            null, null) as inserted);
    update errand.job
    set options = coalesce(options, '{}') || jsonb_build_object('failure_of', failed.id)
    where id = added;
end
$$;
