-- answer_conflicts: the answer of errand.enqueue_many where unfinished jobs had some of the keys (ids has null for those), or
-- where some jobs were parked.
create or replace function errand.answer_conflicts(jobs jsonb, ids bigint[])
returns table (ordinal int, job_id bigint, inserted boolean, state text)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    element record;
    asked record;
begin
    for element in
        select item.value, item.ordinality, id
        from jsonb_array_elements(jobs) with ordinality as item
        join unnest(ids) with ordinality as one(id, ordinality) using (ordinality)
        order by item.ordinality
    loop
        if element.id is not null then
            return query select element.ordinality::int, job.id, true, job.state from errand.job where id = element.id;
            continue;
        end if;
        select * into asked
        from jsonb_to_record(element.value) as job(
            kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int, unique_key text,
            not_after timestamptz, on_conflict text, limit_key text, guard text, tags text[], traceparent text);
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
