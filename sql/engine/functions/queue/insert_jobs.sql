-- insert_jobs: the insert of errand.enqueue_many if no job has a unique key.
--
-- ids and states have an element for each job, in order. limited has the limits of the available ones. ordered says
-- whether some are parked for their order key: errand_internal.begin_order. Raises as errand.enqueue_many does.
create or replace function errand_internal.insert_jobs(
    jobs jsonb, batch bigint, out ids bigint[], out states text[], out limited text[], out ordered boolean
) language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    any_large boolean;
begin
    -- The transaction id comes before the positions: see errand_internal.requeue.
    perform pg_current_xact_id();
    with added as (
        insert into errand.job (:request_columns, payload, run_at, not_after, state, queue_position, parked_for)
        select
            :request_columns, case when pg_column_size(payload) <= 2000 then payload end, run_at, not_after,
            case when run_at > now() then 'scheduled' when options ? 'order_key' then 'parked' else 'available' end,
            case
                when run_at <= now() and (options ? 'order_key') is not true then nextval('errand.job_position')
            end,
            case
                when options ? 'order_key' and run_at <= now() then 'order:' || (options ->> 'order_key')
            end
        from errand_internal.read_elements(jobs, insert_jobs.batch)
        returning id, state, limit_key, payload is null as is_large, parked_for
    )
    -- Without a join or a sort in between, rows come in the order of the elements.
    select
        array_agg(id), array_agg(state),
        array_agg(distinct limit_key) filter (where state = 'available' and limit_key is not null),
        bool_or(is_large), bool_or(parked_for is not null)
    into ids, states, limited, any_large, ordered
    from added;
    if any_large then
        perform errand_internal.store_payloads(array_agg(ids[index]), array_agg(element -> 'payload'))
        from jsonb_array_elements(jobs) with ordinality as item(element, index)
        where ids[index] is not null and pg_column_size(element -> 'payload') > 2000;
    end if;
    if limited is not null then
        perform errand_internal.park_beyond_limits(ids, limited);
    end if;
    perform errand_internal.wake();
end
$$;
