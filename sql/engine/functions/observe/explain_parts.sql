-- explain_ended: how a job ended, for errand.explain; or that there is none.
create or replace function errand.explain_ended(job_id bigint) returns table (code text, detail text, hint text)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    ended record;
    holder record;
begin
    select state, queue, kind, attempt, max_attempts, crashes, started_at, finished_at, unique_key, reason into ended
    from errand.job_status as known
    where known.id = explain_ended.job_id
    order by finished_at desc
    limit 1;
    if not found then
        code := 'unknown';
        detail := format('there is no job %s (any more)', coalesce(explain_ended.job_id::text, 'null'));
        hint := 'Ended jobs stay for 7 days, failed ones for 30; errand.audit says what was done to it.';
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
    hint := case when ended.state in ('failed', 'cancelled')
        then format('select * from errand.retry(''{%s}'', reason => ''…'')', explain_ended.job_id) end;
    return next;
    if ended.unique_key is not null and ended.state in ('failed', 'cancelled') then
        select id, state into holder from errand.job where unique_key = ended.unique_key;
        if found then
            code := 'unique_conflict';
            detail := format('job %s (%s) has its unique key %s', holder.id, holder.state, quote_literal(ended.unique_key));
            hint := format('select * from errand.cancel(''{%s}'', reason => ''…'')', holder.id);
            return next;
        end if;
    end if;
end
$$;
comment on function errand.explain_ended(bigint) is 'For errand.explain: how a job ended, or that there is none';

-- explain_running: where a job runs, for errand.explain, and whether anybody still hears of it.
create or replace function errand.explain_running(job errand.job) returns table (code text, detail text, hint text)
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select
        case when worker.beat_at + worker.lease > now() then 'running' else 'worker_lost' end,
        format(
            'attempt %s of %s runs since %s%s on worker %s%s', job.attempt, job.max_attempts, job.started_at,
            case when isfinite(job.started_at)
                then format(' (%s s)', round(extract(epoch from now() - job.started_at))) end, job.worker_id,
            case
                when worker.id is null then ', which has no lease any more'
                when worker.beat_at + worker.lease > now() then ' (' || worker.name || ')'
                else format(
                    ' (%s), which was last heard %s s ago', worker.name,
                    round(extract(epoch from now() - worker.beat_at)))
            end),
        case
            when worker.id is null or worker.beat_at + worker.lease <= now()
                then 'Housekeeping of any worker or scheduler takes it back within 5 minutes; does one run?'
            when job.started_at < now() - interval '15 minutes'
                then format('select * from errand.cancel(''{%s}'', reason => ''…'')', job.id)
        end
    from (select) as one
    left join errand.worker on worker.id = job.worker_id
$$;
comment on function errand.explain_running(errand.job) is 'For errand.explain: where a job runs';

-- explain_held: what in the job itself holds it back, for errand.explain: its time, and what it is parked for.
create or replace function errand.explain_held(job errand.job) returns table (code text, detail text, hint text)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if job.not_after <= now() then
        code := 'too_late';
        detail := format('it was not to be started after %s: it becomes obsolete at its claim', job.not_after);
        hint := null;
        return next;
    end if;
    if job.state = 'scheduled' and job.run_at > now() then
        code := case when job.attempts is null then 'not_due' else 'retry_later' end;
        detail := format('it is due at %s', job.run_at)
            || case when isfinite(job.run_at) then format(', in %s s', ceil(extract(epoch from job.run_at - now()))) else '' end;
        if job.attempts is not null then
            detail := detail || format('; attempt %s of %s ended: %s', job.attempt, job.max_attempts,
                coalesce(
                    case when errand.sees_content() then job.attempts -> -1 ->> 'error' end,
                    job.attempts -> -1 ->> 'outcome'));
        end if;
        hint := format('select * from errand.reschedule(''{%s}'', run_at => now())', job.id);
        return next;
    elsif job.state = 'scheduled' then
        code := 'not_promoted';
        detail := format('it is due since %s, and nobody has put it in line', job.run_at);
        hint := 'Housekeeping does that within a second: does any `errand worker` or `errand scheduler` run?';
        return next;
    elsif job.parked_for = 'crash' then
        code := 'crashed';
        detail := format('it was running in %s crashes of its worker: such jobs go back in line one at a time', job.crashes);
        hint := format('select * from errand.cancel(''{%s}'', reason => ''…'')', job.id);
        return next;
    end if;
end
$$;
comment on function errand.explain_held(errand.job) is 'For errand.explain: what in the job itself holds it back';

-- explain_queue: what in its queue holds a job back, for errand.explain: a pause, no workers, none that knows its kind.
create or replace function errand.explain_queue(job errand.job) returns table (code text, detail text, hint text)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    paused errand.queue;
    names text;
begin
    select * into paused from errand.queue where name = job.queue and paused_at is not null;
    if found then
        code := 'paused';
        detail := format(
            'the queue %s is paused since %s%s%s: %s', job.queue, paused.paused_at, ' by ' || paused.paused_by,
            ' until ' || paused.paused_until, coalesce(paused.paused_reason, 'no reason given'));
        hint := format('select errand.resume(%L)', job.queue);
        return next;
    end if;
    select string_agg(distinct name, ', ') into names
    from errand.worker
    where job.queue = any (queues) and beat_at + lease > now();
    if names is null then
        code := 'no_worker';
        detail := format('no live worker claims from the queue %s', job.queue);
        select string_agg(distinct queue, ', ') into names
        from errand.worker, unnest(queues) as queue
        where beat_at + lease > now();
        hint := coalesce(
            'Live workers claim from ' || names || ': start one for this queue.', 'No worker lives at all: start one.');
        return next;
    elsif not exists (
        select from errand.worker where job.queue = any (queues) and job.kind = any (kinds) and beat_at + lease > now())
    then
        code := 'unknown_kind';
        detail := format('no live worker of the queue %s knows the kind %s: %s', job.queue, job.kind, names);
        select string_agg(distinct worker.name, ', ') into names
        from errand.worker
        where job.kind = any (kinds) and beat_at + lease > now();
        hint := case
            when names is not null then format('%s knows it, but claims from other queues.', names)
            when exists (select from errand.kind where name = job.kind) then 'Start a worker of a version that has it.'
            else 'No worker has ever brought this kind: is its name right? It may wait for a version that is yet to come.'
        end;
        return next;
    end if;
end
$$;
comment on function errand.explain_queue(errand.job) is 'For errand.explain: what in its queue holds a job back';

-- explain_turn: where a job stands in line, for errand.explain: behind how many, or next.
create or replace function errand.explain_turn(job errand.job)
returns table (code text, detail text, hint text)
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    ahead bigint;
    busy record;
begin
    select count(*) into ahead
    from (
        select
        from generate_series(1, job.priority) as lane
        cross join lateral (
            select
            from errand.job as other
            where other.queue = job.queue and other.priority = lane
                and other.line < case when lane = job.priority then job.line else 9223372036854775807 end
                and other.state = 'available'
            limit 10001
        ) as near
        limit 10001) as counted;
    select coalesce(sum(running), 0) as jobs, count(*) as workers into busy
    from errand.worker
    where job.queue = any (queues) and beat_at + lease > now();
    if ahead > 0 then
        code := 'behind';
        detail := format(
            '%s due jobs are ahead of it in the queue %s, priority %s and better; %s workers run %s jobs',
            case when ahead > 10000 then 'more than 10000' else ahead::text end, job.queue, job.priority, busy.workers,
            busy.jobs);
        hint := case when job.priority > 1
            then format('select * from errand.reschedule(''{%s}'', priority => 1)', job.id)
            else 'More workers, or a higher concurrency, make the line shorter.' end;
    else
        code := 'next';
        detail := format(
            'it is the first in its line; %s workers of the queue %s run %s jobs', busy.workers, job.queue, busy.jobs);
        hint := case
            when job.run_at < now() - interval '10 seconds'
                then 'Its workers are full with other jobs, or can''t claim: see their logs.'
            else 'A worker takes it as soon as it has room.'
        end;
    end if;
    return next;
end
$$;
comment on function errand.explain_turn(errand.job) is 'For errand.explain: where a job stands in line';
