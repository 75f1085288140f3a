-- enqueue_many: puts many jobs in line in one statement, all or none: up to 100,000 in a call.
--
--   select * from errand.enqueue_many('[{"kind": "noop"}, {"kind": "noop", "payload": {"sleep_ms": 5}, "priority": 1}]');
--
-- Each element takes the arguments of errand.enqueue by their names. The answer has one row an element, in order.
-- Raises as errand.enqueue does, with the element's place; ER422 where jobs is no array or an element no object.
create or replace function errand.enqueue_many(jobs jsonb)
returns table (ordinal int, job_id bigint, inserted boolean)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    element record;
begin
    if jsonb_typeof(jobs) is distinct from 'array' then
        raise exception 'enqueue_many: jobs: expected a JSON array, got %', coalesce(jsonb_typeof(jobs), 'null')
            using errcode = 'ER422';
    elsif jsonb_array_length(jobs) > 100000 then
        raise exception 'enqueue_many: jobs: expected at most 100000 elements, got %', jsonb_array_length(jobs)
            using errcode = 'ER422', hint = 'Call it several times in one transaction.';
    end if;
    select value, ordinality into element
    from jsonb_array_elements(jobs) with ordinality
    where jsonb_typeof(value) <> 'object'
    limit 1;
    if found then
        raise exception 'enqueue_many: jobs[%]: expected an object, got %', element.ordinality, jsonb_typeof(element.value)
            using errcode = 'ER422';
    end if;
    perform pg_current_xact_id();
    return query
    with asked as materialized (
        select
            item.ordinality as place,
            nextval('errand.job_id_seq') as id,
            job.kind, coalesce(job.payload, '{}') as payload, job.queue, coalesce(job.run_at, now()) as run_at,
            job.priority, job.max_attempts, job.unique_key,
            errand.check_job(
                job.kind, coalesce(job.payload, '{}'), job.queue, job.priority, job.max_attempts, job.unique_key,
                format('enqueue_many: jobs[%s]', item.ordinality)) as checked
        from jsonb_array_elements(jobs) with ordinality as item,
            jsonb_to_record(item.value) as job(
                kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int,
                unique_key text)
    ),
    added as (
        insert into errand.job (id, queue, kind, payload, run_at, state, line, priority, max_attempts, unique_key)
        select
            asked.id, coalesce(asked.queue, defaults.queue, 'default'), asked.kind, asked.payload, asked.run_at,
            case when asked.run_at > now() then 'scheduled' else 'available' end,
            case when asked.run_at > now() then null else nextval('errand.job_line') end,
            coalesce(asked.priority, defaults.priority, 2), coalesce(asked.max_attempts, defaults.max_attempts, 10),
            asked.unique_key
        from asked
        left join errand.kind as defaults on defaults.name = asked.kind
        order by asked.place
        on conflict (unique_key) where unique_key is not null do nothing
        returning id, unique_key
    )
    select
        asked.place::int,
        coalesce(added.id, held.id, earlier.id),
        added.id is not null
    from asked
    left join added using (id)
    left join errand.job as held on added.id is null and held.unique_key = asked.unique_key
    -- The same key twice in one call: the later element answers with the earlier one's job, which no query here sees yet.
    left join added as earlier on added.id is null and earlier.unique_key = asked.unique_key
    order by asked.place;
end
$$;
comment on function errand.enqueue_many(jsonb) is
    'Puts up to 100,000 jobs in line, all or none; each element takes the arguments of errand.enqueue by name. '
    'Example: select * from errand.enqueue_many(''[{"kind": "noop"}, {"kind": "noop", "priority": 1}]'')';
