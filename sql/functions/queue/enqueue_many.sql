-- enqueue_many: puts many jobs in line in one statement, all or none: up to 100,000 in a call.
--
--   select * from errand.enqueue_many('[{"kind": "noop"}, {"kind": "noop", "payload": {"sleep_ms": 5}, "priority": 1}]');
--
-- Each element takes the arguments of errand.enqueue by their names. The answer has one row an element, in order. Where
-- one asks to replace or reschedule, all are put in line one by one, some 40 us each. Jobs with a limit that have no
-- room within it are parked at once. Raises as errand.enqueue does, with the element's place; ER422 where jobs is no
-- array, an element no object, or a name in it none of enqueue's.
create or replace function errand.enqueue_many(jobs jsonb)
returns table (ordinal int, job_id bigint, inserted boolean, state text)
-- A plan that was made while the table was empty would read all of it for each job.
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    ids bigint[];
    states text[];
    conflicts boolean;
    limited text[];
begin
    perform errand.check_elements(jobs);
    -- What changes jobs that there are locks them: one by one, by their keys, so that no two calls wait for each other.
    if exists (select from jsonb_array_elements(jobs) where value ->> 'on_conflict' in ('replace', 'reschedule')) then
        return query
        select *
        from errand.answer_conflicts(jobs, array_fill(null::bigint, array[jsonb_array_length(jobs)])) as one
        order by one.ordinal;
        return;
    end if;
    -- The transaction id comes before the lines: see errand.requeue.
    perform pg_current_xact_id();
    with asked as materialized (
        select
            item.ordinality as place,
            nextval('errand.job_id_seq') as id,
            job.kind, coalesce(job.payload, '{}') as payload, job.queue, coalesce(job.run_at, now()) as run_at,
            job.priority, job.max_attempts, job.unique_key, nullif(job.not_after, 'infinity') as not_after,
            job.limit_key, job.guard, nullif(job.tags[:], '{}') as tags, job.traceparent,
            case when coalesce(job.run_at, now()) <= now() then nextval('errand.job_line') end as line,
            errand.check_job(
                job.kind, coalesce(job.payload, '{}'), job.queue, job.priority, job.max_attempts, job.unique_key,
                format('enqueue_many: jobs[%s]', item.ordinality)) as checked,
            case when job.run_at is not null then
                errand.check_run_at(job.run_at, format('enqueue_many: jobs[%s]', item.ordinality))
            end as time_checked,
            case when num_nonnulls(
                job.not_after, job.on_conflict, job.limit_key, job.guard, job.tags, job.traceparent) > 0
            then errand.check_options(
                job.run_at, job.not_after, job.unique_key, coalesce(job.on_conflict, 'keep'), job.limit_key, job.guard,
                job.tags, job.traceparent, format('enqueue_many: jobs[%s]', item.ordinality))
            end as options_checked
        from jsonb_array_elements(jobs) with ordinality as item,
            jsonb_to_record(item.value) as job(
                kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int,
                unique_key text, not_after timestamptz, on_conflict text, limit_key text, guard text, tags text[],
                traceparent text)
    ),
    added as (
        insert into errand.job (
            id, queue, kind, payload, run_at, state, line, priority, max_attempts, unique_key, not_after, limit_key,
            guard, tags, traceparent)
        select
            asked.id, coalesce(asked.queue, defaults.queue, 'default'), asked.kind, asked.payload, asked.run_at,
            case when asked.line is null then 'scheduled' else 'available' end, asked.line,
            coalesce(asked.priority, defaults.priority, 2), coalesce(asked.max_attempts, defaults.max_attempts, 10),
            asked.unique_key, asked.not_after, coalesce(asked.limit_key, defaults.limit_key), asked.guard, asked.tags,
            asked.traceparent
        from asked
        left join errand.kind as defaults on defaults.name = asked.kind
        -- In one order for all, so that two calls with the same keys don't wait for each other for ever.
        order by asked.unique_key, asked.place
        on conflict (unique_key) where unique_key is not null do nothing
        returning id, state, limit_key
    )
    select
        array_agg(added.id order by asked.place), array_agg(added.state order by asked.place),
        bool_or(added.id is null),
        array_agg(distinct added.limit_key) filter (where added.state = 'available' and added.limit_key is not null)
    into ids, states, conflicts, limited
    from asked
    left join added using (id);
    if limited is not null then
        perform errand.park_beyond_limits(ids, limited);
    end if;
    if conflicts or limited is not null then
        return query select * from errand.answer_conflicts(jobs, ids) as one order by one.ordinal;
    else
        return query
        select place::int, id, true, state
        from unnest(ids, states) with ordinality as one(id, state, place);
    end if;
end
$$;
comment on function errand.enqueue_many(jsonb) is
    'Puts up to 100,000 jobs in line, all or none; each element takes the arguments of errand.enqueue by name. '
    'Example: select * from errand.enqueue_many(''[{"kind": "noop"}, {"kind": "noop", "priority": 1}]'')';
