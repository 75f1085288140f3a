-- answer_conflicts: what errand.enqueue_many returns where unfinished jobs had some of the keys (ids has null for
-- those), or where some jobs were parked.
create or replace function errand.answer_conflicts(jobs jsonb, ids bigint[])
returns table (ordinal int, job_id bigint, inserted boolean, state text)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    element record;
    asked record;
    place text;
begin
    for element in
        select item.value, item.ordinality, id
        from jsonb_array_elements(jobs) with ordinality as item
        join unnest(ids) with ordinality as one(id, ordinality) using (ordinality)
        -- In the order in which everybody locks keys and jobs.
        order by item.value ->> 'unique_key', item.ordinality
    loop
        if element.id is not null then
            return query select element.ordinality::int, job.id, true, job.state from errand.job where id = element.id;
            continue;
        end if;
        select * into asked
        from jsonb_to_record(element.value) as job(
            kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int, unique_key text,
            not_after timestamptz, on_conflict text, limit_key text, guard text, tags text[], traceparent text);
        place := format('enqueue_many: jobs[%s]', element.ordinality);
        perform errand.check_job(
            asked.kind, coalesce(asked.payload, '{}'), asked.queue, asked.priority, asked.max_attempts, asked.unique_key,
            place);
        perform errand.check_run_at(asked.run_at, place);
        perform errand.check_options(
            asked.run_at, asked.not_after, asked.unique_key, coalesce(asked.on_conflict, 'keep'), asked.limit_key,
            asked.guard, asked.tags, asked.traceparent, place);
        return query
        select element.ordinality::int, one.job_id, one.inserted, one.state
        from errand.enqueue(
            asked.kind, coalesce(asked.payload, '{}'), asked.queue, asked.run_at, asked.priority, asked.max_attempts,
            asked.unique_key, asked.not_after, coalesce(asked.on_conflict, 'keep'), asked.limit_key, asked.guard,
            asked.tags, asked.traceparent) as one;
    end loop;
end
$$;
comment on function errand.answer_conflicts(jsonb, bigint[]) is
    'For errand.enqueue_many: the answers where keys were taken or jobs parked';
