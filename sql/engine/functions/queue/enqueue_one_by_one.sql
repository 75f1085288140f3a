-- enqueue_one_by_one: for errand.enqueue_many if an element asks to change an existing job or says how long its job has
-- its key, or if a key has become free: enqueues one by one, in the order of their keys.
create or replace function errand_internal.enqueue_one_by_one(jobs jsonb)
returns table (ordinal int, job_id bigint, inserted boolean, state text)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    element record;
    -- A job is older than those behind it, whatever their keys: they may wait for it.
    ids constant bigint[] := array(select nextval('errand.job_id_seq') from jsonb_array_elements(jobs));
begin
    for element in
        select item.value, item.ordinality
        from jsonb_array_elements(jobs) with ordinality as item
        -- In the order in which all sessions lock keys and jobs.
        order by item.value ->> 'unique_key', item.ordinality
    loop
        return query
        select element.ordinality::int, one.job_id, one.inserted, one.state
        from errand_internal.enqueue_element(
            element.value, format('enqueue_many: jobs[%s]', element.ordinality), ids[element.ordinality]) as one;
    end loop;
end
$$;
