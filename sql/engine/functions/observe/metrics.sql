-- metrics: returns the samples for a monitoring system, one row each, with Prometheus' names. One scrape costs some
-- milliseconds.
--
--   select * from errand.metrics();
--
-- type is counter, gauge or histogram: a row for each bucket, named …_bucket, and the rows …_sum and …_count. Counters
-- and histograms never decrease while their name has completions. The counters of `other` may, so it has no histograms.
--
-- An application that may enqueue can make up names of queues and kinds. So 200 queues and 200 kinds have samples of
-- their own: first those that workers serve, then the largest. The others are added up under the name `other`, with the
-- smallest of their queue_workers and kind_workers; errand_folded_names has their number. Attempts are by queue and
-- kind for the 300 pairs with the most of them, and the other kinds of a queue are its kind `other`. The 60 queues with
-- the most attempts have histograms. So the number of samples has a bound for any number of queues and kinds.
--
-- An app adds the samples of its own function metrics(), with the same columns. The sizes are of the engine's tables,
-- and of those of the apps that had at least 1 MB at their last vacuum: fifty small ones would double the time. A table
-- that somebody locks against all others holds up their reader.
-- errand: for worker, ops, monitor
-- errand: topic health
create or replace function errand.metrics() returns table (name text, type text, labels jsonb, value double precision)
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp set jit = off
as $$
#variable_conflict use_column
begin
    return query
    with queues as materialized (
        select *, case when is_folded then 'other' else queue end as label
        from (
            select
                *,
                row_number() over (
                    order by workers > 0 desc, paused_at is not null desc,
                        waiting + running + scheduled + parked + failed desc, queue) > 200 as is_folded
            from errand.queues
        ) as ranked
    ),
    kinds as materialized (
        select *, case when is_folded then 'other' else kind end as label
        from (
            select
                *,
                row_number() over (
                    order by workers > 0 desc, queue is not null desc,
                        waiting + running + scheduled + parked + failed desc, kind) > 200 as is_folded
            from errand.kinds
        ) as ranked
    ),
    finished as materialized (
        select queue, kind, outcome, jobs, wait_ms, run_ms, last_minute as minute, wait_histogram, run_histogram
        from errand.finished_total
        union all
        select queue, kind, outcome, jobs, wait_ms, run_ms, minute, wait_histogram, run_histogram
        from errand.finished_per_minute
        where worker_id <> 0
    ),
    -- Queues that have completions and no more jobs share what the queues above leave of the 200.
    named as materialized (
        select queue
        from (
            select label as queue, true as is_shown, null as minute from queues where not is_folded
            union all
            select queue, false, max(minute) from finished group by queue
        ) as either
        group by queue
        order by bool_or(is_shown) desc, max(minute) desc, queue
        limit 200
    ),
    labelled as materialized (
        select
            coalesce(named.queue, 'other') as queue, coalesce(kinds.label, finished.kind) as kind, outcome, jobs,
            wait_ms, run_ms, wait_histogram, run_histogram
        from finished
        left join named on named.queue = finished.queue
        left join kinds on kinds.kind = finished.kind
    ),
    -- The pairs of queue and kind with the most attempts, and the queues that have histograms.
    pair as materialized (
        select queue, kind, row_number() over (order by sum(jobs) desc, queue, kind) <= 300 as is_shown
        from labelled
        group by queue, kind
    ),
    measured as materialized (
        select queue from labelled where queue <> 'other' group by queue order by sum(jobs) desc, queue limit 60
    ),
    ended as materialized (
        select
            queue, case when pair.is_shown then kind else 'other' end as kind, outcome, sum(jobs) as jobs,
            sum(wait_ms) as wait_ms, sum(run_ms) as run_ms
        from labelled
        join pair using (queue, kind)
        group by 1, 2, 3
    ),
    -- The stored buckets end at powers of sqrt(2), these at powers of 2: from 1 ms to 65.5 s each one, up to 70 minutes
    -- each second one, then infinity.
    bucket as materialized (
        select
            time.name, queue,
            case
                when index / 2 <= 16 then index / 2
                when index / 2 <= 22 then index / 2 + index / 2 % 2
                else 32
            end as exponent,
            sum(n) as attempts
        from labelled
        cross join lateral (
            values ('errand_wait_seconds', wait_histogram),
                ('errand_run_seconds', case when outcome <> 'released' then run_histogram end)
        ) as time(name, histogram)
        cross join lateral unnest(time.histogram) with ordinality as stored(n, index)
        where queue in (select measured.queue from measured)
        group by 1, 2, 3
    ),
    upto as materialized (
        select
            series.name, series.queue, bound.exponent,
            sum(coalesce(bucket.attempts, 0)) over (
                partition by series.name, series.queue order by bound.exponent) as attempts
        from (select distinct bucket.name, queue from bucket) as series
        cross join unnest('{0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,18,20,22,32}'::bigint[]) as bound(exponent)
        left join bucket on bucket.name = series.name and bucket.queue = series.queue
            and bucket.exponent = bound.exponent
    )
    select 'errand_jobs', 'gauge', jsonb_build_object('queue', label, 'state', depth.state), sum(depth.jobs)::float8
    from queues
    cross join lateral (
        values ('available', waiting), ('running', running), ('scheduled', scheduled), ('parked', parked),
            ('failed', failed)
    ) as depth(state, jobs)
    group by label, depth.state
    union all
    select 'errand_oldest_due_seconds', 'gauge', jsonb_build_object('queue', label),
        coalesce(extract(epoch from max(oldest_age)), 0)::float8
    from queues
    group by label
    union all
    select 'errand_queue_paused', 'gauge', jsonb_build_object('queue', label), max((paused_at is not null)::int)::float8
    from queues
    group by label
    union all
    select 'errand_queue_workers', 'gauge', jsonb_build_object('queue', label), min(workers)::float8
    from queues
    group by label
    union all
    select 'errand_folded_names', 'gauge', jsonb_build_object('what', folded.what), folded.names::float8
    from (
        select 'queue', count(*) from queues where is_folded
        union all
        select 'kind', count(*) from kinds where is_folded
    ) as folded(what, names)
    union all
    select
        upto.name || '_bucket', 'histogram',
        jsonb_build_object(
            'queue', queue,
            'le', case when exponent = 32 then '+Inf' else (2 ^ exponent::float8 / 1000)::text end),
        attempts::float8
    from upto
    union all
    select upto.name || '_count', 'histogram', jsonb_build_object('queue', queue), attempts::float8
    from upto
    where exponent = 32
    union all
    select upto.name || '_sum', 'histogram', jsonb_build_object('queue', upto.queue), sum(time.ms)::float8 / 1000
    from upto
    join ended on ended.queue = upto.queue
    cross join lateral (
        values ('errand_wait_seconds', wait_ms),
            ('errand_run_seconds', case when outcome <> 'released' then run_ms else 0 end)
    ) as time(name, ms)
    where upto.exponent = 32 and time.name = upto.name
    group by upto.name, upto.queue
    union all
    select 'errand_attempts_total', 'counter', jsonb_build_object('queue', queue, 'kind', kind, 'outcome', outcome),
        jobs::float8
    from ended
    union all
    select 'errand_wait_seconds_total', 'counter', jsonb_build_object('queue', queue, 'kind', kind),
        sum(wait_ms)::float8 / 1000
    from ended
    group by queue, kind
    union all
    select 'errand_run_seconds_total', 'counter', jsonb_build_object('queue', queue, 'kind', kind),
        sum(run_ms)::float8 / 1000
    from ended
    group by queue, kind
    union all
    select
        'errand_enqueues_refused_total', 'counter',
        jsonb_build_object('kind', coalesce(kinds.label, 'other'), 'reason', refused.reason),
        sum(refused.enqueues)::float8
    from errand.refused_enqueues as refused
    left join kinds on kinds.kind = refused.kind
    group by coalesce(kinds.label, 'other'), refused.reason
    union all
    select 'errand_workers', 'gauge', jsonb_build_object('version', version),
        count(*) filter (where not is_lost)::float8
    from errand.workers
    group by version
    union all
    select 'errand_last_success_timestamp_seconds', 'gauge', jsonb_build_object('kind', label),
        extract(epoch from max(last_succeeded))::float8
    from kinds
    where last_succeeded is not null
    group by label
    union all
    select 'errand_kind_workers', 'gauge', jsonb_build_object('kind', label), min(workers)::float8
    from kinds
    group by label
    union all
    select 'errand_schedule_late', 'gauge', jsonb_build_object('schedule', schedules.name),
        (problem is not null and paused_at is null)::int::float8
    from errand.schedules
    union all
    select state.name, 'gauge', jsonb_build_object('circuit', circuit.name), state.holds::int::float8
    from errand.circuit
    cross join lateral (
        values ('errand_circuit_closed', opened_at is null),
            ('errand_circuit_held', opened_at is not null and opened_by = 'ops')
    ) as state(name, holds)
    where circuit.name not like 'kind:%'
    union all
    select 'errand_kind_paused', 'gauge', jsonb_build_object('kind', substr(circuit.name, 6)),
        (opened_at is not null)::int::float8
    from errand.circuit
    where circuit.name like 'kind:%'
    union all
    select
        'errand_overdue', 'gauge', '{}',
        (
            (
                select count(*)
                from queues
                where (oldest_age > interval '5 minutes' or stands_still) and paused_at is null
            )
            + (select count(*) from errand.overdue where what not in ('queue', 'paused queue')))::float8
    union all
    select 'errand_scheduler_up', 'gauge', '{}',
        exists (
            select from errand.maintenance_task where maintenance_task.name = 'schedule'
                and done_at between now() - interval '30 seconds' and clock_timestamp()
        )::int::float8
    union all
    select 'errand_stuck_jobs', 'gauge', '{}', count(*)::float8
    from errand.stuck
    union all
    select 'errand_horizon_transactions', 'gauge', '{}', coalesce(max(transactions), 0)::float8
    from errand_internal.horizon()
    union all
    select size.name, 'gauge', jsonb_build_object('table', size.table_name), size.value
    from (
        select
            part.relnamespace::regnamespace || '.' || coalesce(parent.relname, part.relname) as table_name,
            sum(pg_total_relation_size(part.oid)) as bytes,
            sum(pg_stat_get_live_tuples(part.oid)) as live_rows, sum(pg_stat_get_dead_tuples(part.oid)) as dead_rows
        from pg_class as part
        left join pg_inherits as child on child.inhrelid = part.oid
        left join pg_class as parent on parent.oid = child.inhparent
        left join pg_class as toast on toast.oid = part.reltoastrelid
        where part.relkind = 'r'
            and (
                part.relnamespace = 'errand'::regnamespace
                or part.relnamespace = any (errand_internal.namespaces())
                    and greatest(part.relpages, toast.relpages) >= 128)
        group by part.relnamespace, coalesce(parent.relname, part.relname)
    ) as whole
    cross join lateral (
        values ('errand_table_bytes', table_name, bytes::float8),
            ('errand_table_live_rows', table_name, live_rows::float8),
            ('errand_table_dead_rows', table_name, dead_rows::float8)
    ) as size(name, table_name, value)
    union all
    select 'errand_maintenance_age_seconds', 'gauge', jsonb_build_object('task', maintenance_task.name),
        extract(epoch from now() - done_at)::float8
    from errand.maintenance_task
    where done_at <= clock_timestamp()
    union all
    select 'errand_schema_version', 'gauge', '{}', errand.schema_version()::float8
    union all
    select own.name, own.type, own.labels, own.value
    from errand_internal.app_rows('metrics') as own(name text, type text, labels jsonb, value double precision);
end
$$;
