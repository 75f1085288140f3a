-- metrics: returns the samples for a monitoring system, one row each, with Prometheus' names. One scrape costs some
-- milliseconds.
--
--   select * from errand.metrics();
--
-- type is counter, gauge or summary (quantiles of the last 5 minutes). Counters never decrease as long as the database
-- lives, except under `other`.
--
-- An application that may enqueue can make up names of queues and kinds. So 200 queues and 200 kinds have samples of
-- their own: first those that workers serve, then the largest. The others are added up under the name `other`, with the
-- smallest of their queue_workers and kind_workers; errand_folded_names has their number. Their numbers, and the order
-- of queues by size, are from the last statistics (errand.refresh_statistics_v1): 5,000 queues would take 20,000 probes
-- of the index.
--
-- The sizes are of the engine's own tables. A table that somebody locks against all others holds up their reader.
create or replace function errand.metrics() returns table (name text, type text, labels jsonb, value double precision)
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp set jit = off
as $$
#variable_conflict use_column
declare
    other record;
begin
    with ranked as materialized (
        select * from errand.ranked_queues(200)
    )
    select
        count(*) as queues, count(*) filter (where now() - oldest_due_at > interval '5 minutes') as overdue,
        coalesce(array_agg(queue), '{}') as names, sum(waiting)::bigint as waiting, sum(running)::bigint as running,
        sum(scheduled)::bigint as scheduled, sum(parked)::bigint as parked, sum(failed)::bigint as failed,
        now() - min(oldest_due_at) as oldest_age, max(paused_at) as paused_at, min(workers) as workers,
        set_config('errand.queues_to_show', array(select queue from ranked where not is_folded)::text, true)
    into other
    from ranked
    where is_folded;
    return query
    with queues as materialized (
        select
            queue as label, false as is_folded, waiting, running, scheduled, parked, failed, oldest_age, paused_at,
            workers, wait_p50_ms_5_min, wait_p95_ms_5_min, run_p50_ms_5_min, run_p95_ms_5_min
        from errand.queue_status
        union all
        select
            'other', true, other.waiting, other.running, other.scheduled, other.parked, other.failed, other.oldest_age,
            other.paused_at, other.workers, null, null, null, null
        where other.queues > 0
    ),
    kinds as materialized (
        select *, case when is_folded then 'other' else kind end as label
        from (
            select
                *,
                row_number() over (
                    order by workers > 0 desc, queue is not null desc,
                        waiting + running + scheduled + parked + failed desc, kind) > 200 as is_folded
            from errand.kind_status
        ) as ranked
    ),
    ended as materialized (
        select
            case when folded.queue is null then both_parts.queue else 'other' end as queue,
            coalesce(kinds.label, both_parts.kind) as kind,
            outcome, sum(jobs) as jobs, sum(wait_ms) as wait_ms, sum(run_ms) as run_ms
        from (
            select queue, kind, outcome, jobs, wait_ms, run_ms from errand.finished_total
            union all
            select queue, kind, outcome, jobs, wait_ms, run_ms from errand.finished_per_minute where worker_id <> 0
        ) as both_parts
        left join unnest(other.names) as folded(queue) on folded.queue = both_parts.queue
        left join kinds on kinds.kind = both_parts.kind
        group by 1, 2, 3
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
        select 'queue', other.queues
        union all
        select 'kind', count(*) from kinds where is_folded
    ) as folded(what, names)
    union all
    select time.name, 'summary', jsonb_build_object('queue', label, 'quantile', time.quantile), time.ms / 1000
    from queues
    cross join lateral (
        values
            ('errand_wait_seconds', '0.5', wait_p50_ms_5_min), ('errand_wait_seconds', '0.95', wait_p95_ms_5_min),
            ('errand_run_seconds', '0.5', run_p50_ms_5_min), ('errand_run_seconds', '0.95', run_p95_ms_5_min)
    ) as time(name, quantile, ms)
    where time.ms is not null and not is_folded
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
    select 'errand_workers', 'gauge', jsonb_build_object('version', version),
        count(*) filter (where not is_lost)::float8
    from errand.worker_status
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
    select 'errand_schedule_late', 'gauge', jsonb_build_object('schedule', schedule_status.name),
        (problem is not null and paused_at is null)::int::float8
    from errand.schedule_status
    union all
    select 'errand_dependency_up', 'gauge', jsonb_build_object('dependency', dependency.name),
        (opened_at is null)::int::float8
    from errand.dependency
    union all
    select
        'errand_overdue', 'gauge', '{}',
        (
            (select count(*) from queues where oldest_age > interval '5 minutes' and not is_folded) + other.overdue
            + (select count(*) from errand.overdue where what <> 'queue'))::float8
    union all
    select 'errand_scheduler_up', 'gauge', '{}',
        exists (
            select from errand.maintenance_task where maintenance_task.name = 'schedule'
                and done_at > now() - interval '1 minute'
        )::int::float8
    union all
    select 'errand_stuck_jobs', 'gauge', '{}', count(*)::float8
    from errand.stuck
    union all
    select 'errand_horizon_transactions', 'gauge', '{}', coalesce(max(transactions), 0)::float8
    from errand.horizon()
    union all
    select size.name, 'gauge', jsonb_build_object('table', size.table_name), size.value
    from (
        select
            'errand.' || coalesce(parent.relname, part.relname) as table_name,
            sum(pg_total_relation_size(part.oid)) as bytes,
            sum(pg_stat_get_live_tuples(part.oid)) as live_rows, sum(pg_stat_get_dead_tuples(part.oid)) as dead_rows
        from pg_class as part
        left join pg_inherits as child on child.inhrelid = part.oid
        left join pg_class as parent on parent.oid = child.inhparent
        where part.relnamespace = 'errand'::regnamespace and part.relkind = 'r'
        group by coalesce(parent.relname, part.relname)
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
    union all
    select 'errand_schema_version', 'gauge', '{}', errand.schema_version()::float8;
    perform set_config('errand.queues_to_show', '', true);
end
$$;
comment on function errand.metrics() is
    'Returns the samples for a monitoring system, one row each, with Prometheus'' names';
