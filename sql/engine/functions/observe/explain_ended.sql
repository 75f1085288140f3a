-- explain_ended: for errand.explain: how a job ended, or that there is none.
create or replace function errand_internal.explain_ended(
    job_id bigint
) returns table (code text, detail text, hint text)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    ended record;
    holder record;
begin
    select state, queue, kind, attempt, max_attempts, crashes, started_at, finished_at, unique_key, waiting_key, reason
    into ended
    from errand.jobs as existing
    where existing.id = explain_ended.job_id
    order by finished_at desc
    limit 1;
    if not found then
        code := 'unknown';
        detail := format('there is no job %s (any more)', coalesce(explain_ended.job_id::text, 'null'))
            || coalesce('; it was moved to cell ' || (
                select to_cell from errand.moved_job where moved_job.job_id = explain_ended.job_id), '');
        hint := 'Ended jobs stay for 7 days, failed ones for 30; errand.audit has the actions on it.';
        return next;
        return;
    end if;
    code := ended.state;
    detail := case ended.state
        when 'failed' then format(
            'failed at %s after %s of %s attempts%s', ended.finished_at, ended.attempt, ended.max_attempts,
            ': ' || ended.reason)
        when 'succeeded' then format(
            'succeeded at %s%s', ended.finished_at,
            case when isfinite(ended.started_at) then format(
                ', %s ms after its start', round(extract(epoch from ended.finished_at - ended.started_at) * 1000)) end)
        else format('%s at %s: %s', ended.state, ended.finished_at, coalesce(ended.reason, 'no reason given'))
    end;
    hint := case when ended.state in ('failed', 'cancelled') then
        -- As the library says it. Another attempt with the same payload would fail again.
        case when ended.reason like 'payload does not fit %'
            then format('select errand.edit_job(%s, ''{…}'', reason => ''…''); ', explain_ended.job_id) else '' end
        || format('select * from errand.retry_job(%s, ''…'')', explain_ended.job_id) end;
    return next;
    if ended.unique_key is not null and ended.waiting_key is null and ended.state in ('failed', 'cancelled') then
        select id, state into holder
        from errand.job
        where unique_key = ended.unique_key and not errand_internal.is_expired(job);
        if found then
            code := 'unique_conflict';
            detail := format('job %s (%s) has its unique key %s', holder.id, holder.state,
                quote_literal(ended.unique_key));
            hint := format('select * from errand.cancel_job(%s, ''…'')', holder.id);
            return next;
        end if;
    end if;
end
$$;
