-- enqueue_one_by_one: for errand.enqueue_many if an element asks to change an existing job or says how long its job has
-- its key, or if a key has become free: enqueues one by one, in the order of their keys.
create or replace function errand_internal.enqueue_one_by_one(jobs jsonb)
returns table (ordinal int, job_id bigint, inserted boolean, state text)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    element record;
    asked record;
    -- A job is older than those behind it, whatever their keys: they may wait for it.
    ids constant bigint[] := array(select nextval('errand.job_id_seq') from jsonb_array_elements(jobs));
begin
    for element in
        select item.value, item.ordinality
        from jsonb_array_elements(jobs) with ordinality as item
        -- In the order in which all sessions lock keys and jobs.
        order by item.value ->> 'unique_key', item.ordinality
    loop
        begin
            select * into asked
            from jsonb_to_record(element.value) as job(
                kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int,
                unique_key text, not_after timestamptz, on_conflict text, limit_key text, guard text, tags text[],
                subject text, options jsonb, follow boolean, kind_defaults jsonb, unique_for interval,
                unique_while text, no_later_than interval, rate_key text, order_key text, if_head_fails text,
                batch bigint);
        exception
            when data_exception then
                perform errand_internal.refuse_element(jobs);
                raise;
        end;
        perform errand_internal.check_element(
            asked.kind, asked.payload, asked.queue, asked.run_at, asked.priority, asked.max_attempts, asked.unique_key,
            asked.not_after, asked.on_conflict, asked.limit_key, asked.guard, asked.tags, asked.subject,
            asked.options, asked.rate_key, format('enqueue_many: jobs[%s]', element.ordinality));
        if num_nonnulls(asked.unique_for, asked.unique_while, asked.no_later_than) > 0 then
            perform errand_internal.check_uniqueness(
                asked.unique_key, asked.on_conflict, asked.unique_for, asked.unique_while, asked.no_later_than,
                format('enqueue_many: jobs[%s]', element.ordinality));
        end if;
        perform errand_internal.order_options(
            format('enqueue_many: jobs[%s]', element.ordinality), asked.order_key, asked.if_head_fails,
            coalesce(
                (select order_key from errand.kind where name = asked.kind), asked.kind_defaults ->> 'order_key'),
            null);
        return query
        select element.ordinality::int, one.job_id, one.inserted, one.state
        from errand_internal.insert_job(
            asked.kind, coalesce(asked.payload, '{}'), asked.queue, asked.run_at, asked.priority, asked.max_attempts,
            asked.unique_key, asked.not_after, coalesce(asked.on_conflict, 'keep'), asked.limit_key, asked.guard,
            asked.tags, asked.subject, asked.options, case when asked.follow then session_user::text end,
            asked.kind_defaults, given_id => ids[element.ordinality], unique_for => asked.unique_for,
            unique_while => asked.unique_while, no_later_than => asked.no_later_than,
            rate_key => asked.rate_key, order_key => asked.order_key, if_head_fails => asked.if_head_fails,
            batch => asked.batch) as one;
    end loop;
end
$$;
