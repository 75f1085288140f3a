-- health: returns the checks of an operator, one row each. ok = false needs attention, and hint says what to do.
--
--   select * from errand.health() where not ok;
--
-- A detail names ten things at most, and the number of the others. What an operator has paused is in it, and is ok. A
-- run in the future is from before the server's clock was set back, and doesn't count.
-- errand: for ops, monitor
-- errand: topic health
create or replace function errand.health() returns table (check_name text, ok boolean, detail text, hint text)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
#variable_conflict use_column
begin
    return query
    with late as materialized (
        select * from errand.overdue
    )
    select
        'workers', count(*) filter (where not is_lost) > 0,
        format('%s alive, %s lost', count(*) filter (where not is_lost), count(*) filter (where is_lost)),
        case when count(*) filter (where not is_lost) = 0 then 'start `errand worker`' end
    from errand.workers
    union all
    select
        'scheduler', coalesce(max(done_at) > now() - interval '30 seconds', false),
        coalesce(
            'last read the schedules ' || round(extract(epoch from now() - max(done_at))) || ' s ago',
            'none has ever run: no schedule ticks'),
        case when coalesce(max(done_at) <= now() - interval '30 seconds', true)
            then 'start `errand scheduler`, or call errand.tick_schedules()' end
    from errand.maintenance_task
    where name = 'schedule' and done_at <= clock_timestamp()
    union all
    select
        'maintenance', coalesce(promotion.late < interval '30 seconds', false) and not statistics.are_old,
        case
            when promotion.late is null then 'never done'
            when promotion.late >= interval '30 seconds'
                then format('due for %s s, and nobody does it', round(extract(epoch from promotion.late)))
            else 'done as it is due'
        end || case when statistics.are_old then '; the statistics are old' else '' end,
        case
            when coalesce(promotion.late >= interval '30 seconds', true)
                then 'start `errand worker` or `errand scheduler`: each does it. Workers that pull: errand.maintain()'
            when statistics.are_old then 'select * from errand.maintenance_status where task = ''statistics'''
        end
    from (
        -- The task that is due most often. A time far ahead is from before the server's clock was set back.
        select case
            when due between 0 and present + 60 * 1000000 then (present - due) * interval '1 microsecond'
        end as late
        from (
            select
                pg_sequence_last_value('errand.promote_due') as due,
                (extract(epoch from clock_timestamp()) * 1000000)::bigint as present
        ) as times
    ) as promotion
    cross join (
        select coalesce(min(done_at) <= now() - interval '10 minutes', false) as are_old
        from errand.maintenance_task
        where name = 'statistics' and done_at <= clock_timestamp()
    ) as statistics
    union all
    select
        'home', errand.copy_of() is null,
        coalesce(
            'nothing is claimed or scheduled here: this database is a copy of ' || errand.copy_of(),
            'this database is no copy of another'),
        case when errand.copy_of() is not null
            then 'when the original runs no jobs any more: select errand.adopt(''…'')' end
    union all
    select
        'cell', coalesce(pg_sequence_last_value('errand.job_id_seq') & 8796093022207, 0) < 8000000000000,
        format('cell %s; %s of its 8796093022207 job ids are used', errand.cell(),
            coalesce(pg_sequence_last_value('errand.job_id_seq') & 8796093022207, 0)),
        case when pg_sequence_last_value('errand.job_id_seq') & 8796093022207 >= 8000000000000
            then 'let a new cell take its place' end
    union all
    select
        'moves', count(*) = 0, format('%s batches of jobs are on their way to another cell', count(*)),
        case when count(*) > 0 then 'call `errand cells move` again: it goes on where it stopped' end
    from errand.outgoing
    where taken_at not between now() - interval '1 minute' and clock_timestamp()
    union all
    select
        'overdue', count(*) filter (where what <> 'paused queue') = 0,
        coalesce(errand_internal.first_names(array_agg(what || ' ' || name order by late_by desc, name)), 'nothing'),
        case when count(*) filter (where what <> 'paused queue') > 0 then 'select * from errand.overdue' end
    from late
    where what <> 'kind'
    union all
    select
        'kinds', count(*) = 0,
        coalesce(
            'no live worker has ' || errand_internal.first_names(array_agg(name order by name)),
            'none waits for a worker that has it'),
        case when count(*) > 0 then 'select * from errand.overdue where what = ''kind''' end
    from late
    where what = 'kind'
    union all
    select
        'stuck jobs', stuck.jobs = 0 and unlisted.jobs = 0,
        format('%s running for too long or without a worker', stuck.jobs)
            || case
                when unlisted.jobs > 0
                    then format('; %s taken back within the hour from workers that held them no more', unlisted.jobs)
                else ''
            end,
        case
            when stuck.jobs > 0 then 'select * from errand.stuck'
            when unlisted.jobs > 0 then 'an error of Errand: select * from errand.audit where action = ''take_back'''
        end
    from (select count(*) as jobs from errand.stuck) as stuck
    cross join (
        select coalesce(sum(jobs), 0) as jobs
        from errand.action
        where done_at between now() - interval '1 hour' and now() and action = 'take_back'
    ) as unlisted
    union all
    select
        'failures', failed <= greatest(10, 0.1 * succeeded),
        format('%s failed and %s succeeded within 5 minutes', failed, succeeded),
        case when failed > greatest(10, 0.1 * succeeded) then 'select * from errand.failures' end
    from (
        select
            coalesce(sum(jobs) filter (where outcome = 'failed'), 0) as failed,
            coalesce(sum(jobs) filter (where outcome = 'succeeded'), 0) as succeeded
        from errand.finished_per_minute
        where minute between now() - interval '5 minutes' and now()
    ) as recent
    union all
    select
        'enqueues', count(*) = 0,
        coalesce(
            'inserted nothing within 5 minutes: ' || errand_internal.first_names(array_agg(
                format('%s %s times, beside %s jobs', kind, refused, inserted) order by refused desc, kind)),
            'of no kind most insert nothing'),
        case when count(*) > 0 then 'select * from errand.refused_enqueues' end
    from (
        select
            kind, refused,
            coalesce(
                (
                    select round(sum(rate.per_second) * 300)
                    from errand.enqueue_rates() as rate
                    where rate.kind = refusing.kind),
                0) as inserted
        from (
            select kind, sum(lately) as refused
            from errand.refused_enqueues
            where reason in ('unique', 'period', 'running')
            group by kind
            having sum(lately) >= 100
        ) as refusing
    ) as counted
    where refused > inserted
    union all
    select
        'circuits', count(*) filter (where opened_by <> 'ops') = 0,
        coalesce(
            errand_internal.first_names(array_agg(
                case
                    when name like 'kind:%' then 'the kind ' || substr(name, 6) || ' is paused'
                    when opened_by = 'ops' then name || ' is held by an operator'
                    else name || ' is down'
                end || coalesce(
                    ': ' || case
                        when opened_by = 'ops' or errand_internal.sees_content() then left(reason, 200)
                    end, '')
                order by name)),
            'all up'),
        case when count(*) filter (where opened_by <> 'ops') > 0 then 'select * from errand.circuits' end
    from errand.circuit
    where opened_at is not null
    union all
    select
        'endpoints', count(problem) = 0,
        coalesce(
            errand_internal.first_names(
                array_agg(format('%s: %s', name, problem) order by name) filter (where problem is not null)),
            'none has a problem'),
        case when count(problem) > 0 then 'select * from errand.endpoints where problem is not null' end
    from (
        select name, errand_internal.endpoint_problem(name) as problem
        from errand.endpoint
        where exists (select from errand.handler where endpoint = endpoint.name)
    ) as asked
    union all
    select
        'guards', count(*) = 0,
        coalesce(
            errand_internal.first_names(array_agg(
                format('%s takes %s ms a call and delays jobs', name, round(slow_ms)) order by slow_ms desc)),
            'none delays a claim'),
        case when count(*) > 0 then 'a guard should take a millisecond: use explain analyze on its query' end
    from errand.guard
    where slow_at between now() - interval '5 minutes' and now()
    union all
    select
        'partitions', count(*) = 2, 'history and payload need a partition for tomorrow',
        case when count(*) < 2
            then 'start `errand worker` or `errand scheduler`: each creates it, or its log says what fails' end
    from unnest('{history,payload}'::text[]) as parted
    where to_regclass(
        'errand.' || parted || to_char((now() at time zone 'UTC') + interval '1 day', '_YYYYMMDD')) is not null
    union all
    select
        'vacuum horizon', coalesce(bool_and(transactions < 1000000 and since > now() - interval '1 hour'), true),
        case when count(*) = 0 then 'held by nobody'
            else format('held for %s by %s', date_trunc('second', now() - min(since)),
                errand_internal.first_names(array_agg(what || ' ' || name)))
        end,
        case when not bool_and(transactions < 1000000 and since > now() - interval '1 hour')
            then 'select * from errand.horizon_blockers' end
    from errand_internal.horizon()
    union all
    select
        'locks', count(*) = 0,
        coalesce(string_agg(format(
            'session %s of %s has held %s for %s', pid, who, objects, date_trunc('second', now() - since)), ', '),
                'none held for long'),
        case when count(*) > 0 then
            'as a superuser: ' || string_agg(format('select pg_terminate_backend(%s)', pid), '; ') end
    from errand_internal.lock_holders('30 seconds')
    union all
    select
        'notifications', pg_notification_queue_usage() < 0.5,
        format('their queue is %s %% full', round((pg_notification_queue_usage() * 100)::numeric, 1)),
        case when pg_notification_queue_usage() >= 0.5
            then 'a session listens and does not read: see pg_stat_activity' end;
end
$$;
