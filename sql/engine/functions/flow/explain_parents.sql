-- explain_parents: for errand.explain: which jobs a parked job waits for. Those that failed come first: they run again
-- only if somebody retries them.
create or replace function errand_internal.explain_parents(
    job errand.job
) returns table (code text, detail text, hint text)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    total constant int := jsonb_array_length(job.options -> 'after');
    seen record;
begin
    select
        min(id) filter (where state in ('failed', 'cancelled', 'obsolete')) as failed,
        (array_agg(state order by id) filter (where state in ('failed', 'cancelled', 'obsolete')))[1] as failed_state,
        count(*) filter (where state in ('failed', 'cancelled', 'obsolete')) as failures,
        max(id) filter (where state in ('scheduled', 'available', 'parked', 'running')) as newest,
        (array_agg(state order by id desc) filter (
            where state in ('scheduled', 'available', 'parked', 'running')))[1] as newest_state,
        count(*) filter (where state in ('scheduled', 'available', 'parked', 'running')) as unfinished
    into seen
    from errand_internal.parent_states(array(
        select parent::bigint from jsonb_array_elements_text(job.options -> 'after') as parent));
    if seen.failures > 0 and job.options ->> 'if_parent_fails' = 'wait' then
        code := 'parent_failed';
        detail := format(
            'job %s, which has to succeed first, is %s%s', seen.failed, seen.failed_state,
            case when seen.failures > 1 then format('; so are %s others', seen.failures - 1) else '' end);
        hint := case
            when seen.failed_state = 'obsolete' then format('select * from errand.cancel_job(%s, ''…'')', job.id)
            else format(
                'select * from errand.retry_job(%s, ''…''), or: select * from errand.cancel_job(%s, ''…'')',
                seen.failed, job.id)
        end;
        return next;
    end if;
    if seen.unfinished > 0 or seen.failures = 0 then
        code := 'waits_for_jobs';
        detail := case
            when seen.unfinished = 0 then format('the jobs that it waits for have ended: maintenance checks that')
            else format(
                '%s of the %s jobs that it waits for have not ended, the newest of them job %s (%s)', seen.unfinished,
                total, seen.newest, seen.newest_state)
        end;
        hint := case
            when seen.unfinished = 0
                then 'Maintenance does so within seconds: does any `errand worker` or `errand scheduler` run?'
            else format('select * from errand.explain(%s)', seen.newest)
        end;
        return next;
    end if;
end
$$;
