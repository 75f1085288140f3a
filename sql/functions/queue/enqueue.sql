-- enqueue: puts one job in line, in the caller's transaction: it exists if and when that commits.
--
--   select * from errand.enqueue('image_compression', '{"photo": "6c1d…"}');
--   select * from errand.enqueue('noop', run_at => now() + interval '1 hour', unique_key => 'hourly');
--
-- Queue, priority and max_attempts default to what a worker registered for the kind, else to 'default', 2 and 10.
-- With a unique_key that an unfinished job has, nothing is inserted and that job is the answer.
-- Raises ER422 and ER413 as errand.check_job does.
create or replace function errand.enqueue(
    kind text,
    payload jsonb default '{}',
    queue text default null,
    run_at timestamptz default null,
    priority int default null,
    max_attempts int default null,
    unique_key text default null
) returns table (job_id bigint, inserted boolean, state text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    defaults errand.kind;
    due timestamptz := coalesce(enqueue.run_at, now());
begin
    perform errand.check_job(
        enqueue.kind, enqueue.payload, enqueue.queue, enqueue.priority, enqueue.max_attempts, enqueue.unique_key);
    select * into defaults from errand.kind where name = enqueue.kind;
    -- The transaction id comes before the line: see errand.requeue.
    perform pg_current_xact_id();
    loop
        return query
        insert into errand.job (queue, kind, payload, run_at, state, line, priority, max_attempts, unique_key)
        values (
            coalesce(enqueue.queue, defaults.queue, 'default'), enqueue.kind, enqueue.payload, due,
            case when due > now() then 'scheduled' else 'available' end,
            case when due > now() then null else nextval('errand.job_line') end,
            coalesce(enqueue.priority, defaults.priority, 2), coalesce(enqueue.max_attempts, defaults.max_attempts, 10),
            enqueue.unique_key)
        on conflict (unique_key) where unique_key is not null do nothing
        returning id, true, job.state;
        exit when found;
        return query
        select id, false, job.state
        from errand.job
        where unique_key = enqueue.unique_key;
        -- Neither inserted nor found: the job with this key ended in between, so the key is free now.
        exit when found;
    end loop;
end
$$;
comment on function errand.enqueue(text, jsonb, text, timestamptz, int, int, text) is
    'Puts one job in line, in the caller''s transaction. Answers its id, or that of the unfinished job with the same '
    'unique_key and inserted = false. Example: select * from errand.enqueue(''noop'', ''{"sleep_ms": 100}'')';
