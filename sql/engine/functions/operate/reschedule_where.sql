-- reschedule_where: gives the waiting jobs that match a filter another queue, priority or time. By default it only
-- shows them; dry_run => false moves them. per_minute spreads them from run_at on, or from now on.
--
--   select count(*) from errand.reschedule_where('{"tag": "customer/4"}', 'they wait for it', priority => 1);
--   select count(*) from errand.reschedule_where(
--       '{"kind": "newsletter"}', 'the mail server is new', run_at => now() + interval '1 hour', per_minute => 600,
--       dry_run => false);
--   select * from errand.reschedule_where('{"queue": "images"}', 'more workers there', queue => 'bulk');
--
-- errand_internal.job_filter has the filter's keys; state is scheduled, available or parked. Lowest ids first, at most
-- max_jobs in a call (1 to 100,000). Jobs that have the given queue, priority and time are left out, so call it until
-- it returns no row. With per_minute they match again: then move the next ones by a filter on another state, or a later
-- time of enqueue. A job that a worker is claiming is skipped.
--
-- A job that moves to another queue or priority gets the last position there, in the order of their ids. A due job that
-- is to run now or earlier keeps its time and position. Returns a row for each job with its state before and now, or as
-- it would be, and its time. In a dry run, beyond and a notice have the number of further matches. Raises ER422, and
-- ER404 for a queue that no job, kind or worker has named so far, unless force => true.
-- errand: for ops
-- errand: topic move
create or replace function errand.reschedule_where(
    filter jsonb, reason text, queue text default null, priority int default null, run_at timestamptz default null,
    per_minute int default null, dry_run boolean default true, max_jobs int default 10000, force boolean default false
) returns table (job_id bigint, was text, now text, due_at timestamptz, beyond bigint)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    choice errand.job_choice := errand_internal.job_filter(
        'reschedule_where', reschedule_where.filter, '{scheduled,available,parked}');
    starts timestamptz := coalesce(
        reschedule_where.run_at, case when reschedule_where.per_minute is not null then now() end);
    chosen bigint[];
    due timestamptz[];
    states text[];
    times timestamptz[];
    more bigint;
    action_id bigint;
begin
    perform errand_internal.check_reason('reschedule_where', reschedule_where.reason);
    perform errand_internal.check_bound('reschedule_where', reschedule_where.max_jobs);
    if reschedule_where.queue is not null then
        perform errand_internal.check_known_queue('reschedule_where', reschedule_where.queue, reschedule_where.force);
    end if;
    if reschedule_where.priority not between 1 and 4 then
        raise exception 'reschedule_where: priority: expected 1 (first) to 4 (last), got %', reschedule_where.priority
            using errcode = 'ER422';
    elsif per_minute not between 1 and 1000000 then
        raise exception 'reschedule_where: per_minute: expected 1 to 1000000, got %', per_minute
            using errcode = 'ER422';
    elsif num_nonnulls(reschedule_where.queue, reschedule_where.priority, starts) = 0 then
        raise exception 'reschedule_where: expected a queue, a priority, run_at or per_minute, got none'
            using errcode = 'ER422';
    end if;
    perform errand_internal.check_time(starts, 'reschedule_where');
    execute format(
        $find$
        select
            array_agg(id order by nth) filter (where nth <= $1),
            array_agg(due_time order by nth) filter (where nth <= $1),
            array_agg(state order by nth) filter (where nth <= $1),
            array_agg(run_at order by nth) filter (where nth <= $1),
            case when $2 then count(*) filter (where nth > $1) end
        from (
            select
                spread.*,
                -- A due job keeps its time.
                case when state = 'scheduled' or time_at > now() then time_at end as due_time
            from (
                select
                    job.id, job.state, job.run_at, row_number() over (order by job.id) as nth,
                    $3 + coalesce(
                        (row_number() over (order by job.id) - 1) * interval '1 minute' / $4, interval '0')
                        as time_at
                from errand.job
                where job.state in ('scheduled', 'available', 'parked') and %s
                    and (
                        $4 is not null or job.queue <> $5 or job.priority <> $6
                        or $3 > now() and (job.state <> 'scheduled' or job.run_at <> $3)
                        or $3 <= now() and job.state = 'scheduled')
                order by job.id
                limit case when not $2 then $1 end) as spread) as found
        $find$, errand_internal.job_condition(
            choice, 'job.attempts -> -1 ->> ''error''', 'errand_internal.fingerprint(job.attempts -> -1 ->> ''error'')',
            'null::timestamptz'))
    into chosen, due, states, times, more
    using max_jobs, dry_run, starts, per_minute, reschedule_where.queue, reschedule_where.priority;
    perform errand_internal.report_truncation('reschedule_where', max_jobs, more);
    if chosen is null then
        perform errand_internal.report_unknown('reschedule_where', choice);
    end if;
    if not dry_run and chosen is not null then
        -- A dry run locks nothing. From here on no worker claims these jobs. Those that would stay as they are aren't
        -- locked: a claim may pass a locked job and raise its mark, and only a moved one has a position above it.
        select array_agg(id order by id), array_agg(due_time order by id), array_agg(state order by id),
            array_agg(run_at order by id)
        into chosen, due, states, times
        from (
            select job.id, job.state, job.run_at, asked.due_time
            from errand.job
            join unnest(chosen, due, states) as asked(id, due_time, was) on asked.id = job.id and asked.was = job.state
            where asked.due_time is not null or job.queue <> reschedule_where.queue
                or job.priority <> reschedule_where.priority
            -- In the order in which all sessions lock keys and jobs: skip locked waits for a row that was just updated.
            order by coalesce(job.unique_key, job.waiting_key), job.id
            for update of job skip locked) as existing;
        action_id := nextval('errand.action_id_seq');
        if chosen is not null then
            perform errand_internal.move_jobs(
                chosen, due, reschedule_where.queue, reschedule_where.priority, action_id);
        end if;
        perform errand_internal.record_action(
            'reschedule_where',
            jsonb_strip_nulls(jsonb_build_object(
                'filter', filter, 'queue', reschedule_where.queue, 'priority', reschedule_where.priority,
                'run_at', reschedule_where.run_at, 'per_minute', per_minute)),
            reschedule_where.reason, coalesce(chosen, '{}'), action_id);
        perform errand_internal.wake();
    end if;
    return query
    select
        id, state,
        case
            when due_time > now() then 'scheduled'
            when due_time is not null and state = 'scheduled' then 'available'
            else state
        end,
        coalesce(due_time, time_at), more
    from unnest(chosen, due, states, times) as moved(id, due_time, state, time_at);
end
$$;
