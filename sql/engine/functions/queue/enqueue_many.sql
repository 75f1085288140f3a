-- enqueue_many: enqueues up to 100,000 jobs in one statement, all or none.
--
--   select * from errand.enqueue_many(
--       '[{"kind": "noop"}, {"kind": "noop", "payload": {"sleep_ms": 5}, "priority": 1}]');
--
-- Each element has the arguments of errand.enqueue by name. In after_elements it names elements before it, by their
-- numbers from 1 on, whose jobs it waits for, as for those of after:
--
--   select * from errand.enqueue_many(
--       '[{"kind": "noop"}, {"kind": "noop", "after_elements": [1], "if_parent_fails": "cancel"}]');
--
-- Returns one row for each element, in order. If an element asks to change an existing job or says how long its job has
-- its key, if not all are of the same batch, or if a key becomes free during the call, all are enqueued one by one, at
-- some 40 us each. Jobs whose limit
-- has no room are parked at once. Raises as errand.enqueue does, with the element's number; ER422 if jobs is no array,
-- an element no object, a name unknown, or an element of after_elements not before it.
-- errand: for enqueuer, worker, ops
-- errand: topic enqueue
create or replace function errand.enqueue_many(jobs jsonb)
returns table (ordinal int, job_id bigint, inserted boolean, state text)
-- A plan from when the table was empty would read all of it for each job.
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    ids bigint[];
    found_ids bigint[];
    states text[];
    limited text[];
    ordered boolean;
    taken bigint;
    asked record;
    one_by_one boolean;
begin
    select * into asked from errand_internal.check_elements(jobs);
    -- Changes of existing jobs lock them: one by one, by their keys, so that no two calls wait for each other.
    one_by_one := asked.one_by_one;
    if one_by_one then
        null;
    elsif asked.have_keys then
        begin
            select added.ids, added.ids, added.states, added.limited, added.ordered
            into ids, found_ids, states, limited, ordered
            from errand_internal.insert_keyed_jobs(jobs, asked.batch) as added;
            if limited is not null or array_position(ids, null) is not null then
                select found.ids, found.states into found_ids, states
                from errand_internal.find_jobs(jobs, ids) as found;
            end if;
            if array_position(found_ids, null) is not null then
                raise exception using errcode = 'ER425';
            end if;
        exception
            -- A job whose key was taken has ended since, or has expired. Keys are locked in one order, so this key
            -- can't be taken after later ones: the call releases all of its keys and takes one after the other.
            when sqlstate 'ER425' then
                one_by_one := true;
        end;
    else
        select added.ids, added.ids, added.states, added.limited, added.ordered
        into ids, found_ids, states, limited, ordered
        from errand_internal.insert_jobs(jobs, asked.batch) as added;
        if limited is not null then
            select found.states into states from errand_internal.find_jobs(jobs, ids) as found;
        end if;
    end if;
    if one_by_one then
        select
            array_agg(case when one.inserted then one.job_id end order by one.ordinal),
            array_agg(one.job_id order by one.ordinal), array_agg(one.state order by one.ordinal)
        into ids, found_ids, states
        from errand_internal.enqueue_one_by_one(jobs) as one;
    elsif array_position(ids, null) is not null then
        select found_id into taken
        from jsonb_array_elements(jobs) with ordinality as item
        join unnest(ids, found_ids) with ordinality as one(id, found_id, ordinality) using (ordinality)
        where one.id is null and item.value ->> 'on_conflict' = 'error'
        limit 1;
        if found then
            raise exception 'enqueue: unique_key: expected one that no unfinished job has, got that of job %', taken
                using errcode = 'ER409', hint = 'The key is free again when that job has ended.';
        end if;
        perform errand_internal.count_refused(jobs, ids);
    end if;
    if asked.batch is not null and not one_by_one then
        perform errand_internal.join_batch(asked.batch, array_remove(ids, null), 'enqueue_many: jobs[1]');
    end if;
    if asked.have_parents then
        states := errand_internal.add_parents(
            jobs, found_ids,
            array(select id is not null from unnest(ids) with ordinality as one(id, index) order by index));
    end if;
    if ordered then
        -- Those that wait for no others first.
        perform errand_internal.begin_order(ids);
        select found.states into states from errand_internal.find_jobs(jobs, found_ids) as found;
    end if;
    return query
    select index::int, found_id, id is not null, state
    from unnest(ids, found_ids, states) with ordinality as one(id, found_id, state, index);
end
$$;
