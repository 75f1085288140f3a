-- enqueue_element: enqueues the job of an object that has the arguments of errand.enqueue by name. after and
-- if_parent_fails are given apart, since elements of errand.enqueue_many get theirs once all jobs are inserted.
--
-- given_id is an id that the caller has drawn for it, token that of the HTTP API whose job it is. Returns and raises as
-- errand.enqueue does, with context in front.
create or replace function errand_internal.enqueue_element(
    element jsonb, context text, given_id bigint default null, token text default null, after bigint[] default null,
    if_parent_fails text default 'wait', out job_id bigint, out inserted boolean, out state text
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    asked record;
begin
    begin
        select * into asked
        from jsonb_to_record(element) as job(
            kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int, unique_key text,
            not_after timestamptz, on_conflict text, limit_key text, guard text, tags text[], subject text,
            options jsonb, follow boolean, kind_defaults jsonb, unique_for interval, unique_while text,
            no_later_than interval, rate_key text, order_key text, if_head_fails text, batch bigint);
    exception
        when data_exception then
            perform errand_internal.refuse_element(jsonb_build_array(element), context);
            raise;
    end;
    if context = 'enqueue' then
        -- errand_internal.insert_job checks the rest, with the same words.
        perform errand_internal.check_job(
            asked.kind, coalesce(asked.payload, '{}'), asked.queue, asked.priority, asked.max_attempts,
            asked.unique_key);
    else
        perform errand_internal.check_element(
            asked.kind, asked.payload, asked.queue, asked.run_at, asked.priority, asked.max_attempts,
            asked.unique_key, asked.not_after, asked.on_conflict, asked.limit_key, asked.guard, asked.tags,
            asked.subject, asked.options, asked.rate_key, context);
        if num_nonnulls(asked.unique_for, asked.unique_while, asked.no_later_than) > 0 then
            perform errand_internal.check_uniqueness(
                asked.unique_key, asked.on_conflict, asked.unique_for, asked.unique_while, asked.no_later_than,
                context);
        end if;
        perform errand_internal.order_options(
            context, asked.order_key, asked.if_head_fails,
            coalesce(
                (select order_key from errand.kind where name = asked.kind), asked.kind_defaults ->> 'order_key'),
            null);
    end if;
    select *
    into job_id, inserted, state
    from errand_internal.insert_job(
        asked.kind, coalesce(asked.payload, '{}'), asked.queue, asked.run_at, asked.priority, asked.max_attempts,
        asked.unique_key, asked.not_after, coalesce(asked.on_conflict, 'keep'), asked.limit_key, asked.guard,
        asked.tags, asked.subject, asked.options, case when asked.follow then session_user::text end,
        asked.kind_defaults, token, after, if_parent_fails, given_id, unique_for => asked.unique_for,
        unique_while => asked.unique_while, no_later_than => asked.no_later_than, rate_key => asked.rate_key,
        order_key => asked.order_key, if_head_fails => asked.if_head_fails, batch => asked.batch);
end
$$;
