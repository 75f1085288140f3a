-- insert_keyed_jobs: the insert of errand.enqueue_many if some jobs have unique keys. Inserts those whose keys no
-- unfinished job has.
--
-- ids and states have an element for each job, in order, null if its key was taken. limited has the limits of the
-- available ones. ordered says whether some are parked for their order key: errand_internal.begin_order. Raises as
-- errand.enqueue_many does.
create or replace function errand_internal.insert_keyed_jobs(
    jobs jsonb, batch bigint, out ids bigint[], out states text[], out limited text[], out ordered boolean
) language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    any_large boolean;
begin
    -- The transaction id comes before the positions: see errand_internal.requeue.
    perform pg_current_xact_id();
    with asked as materialized (
        select
            *, nextval('errand.job_id_seq') as id,
            case
                when run_at <= now() and (options ? 'order_key') is not true then nextval('errand.job_position')
            end as queue_position,
            case
                when options ? 'order_key' and run_at <= now() then 'order:' || (options ->> 'order_key')
            end as parked_for
        from errand_internal.read_elements(jobs, insert_keyed_jobs.batch)
    ),
    added as (
        insert into errand.job (id, :request_columns, payload, run_at, not_after, state, queue_position, parked_for)
        select
            id, :request_columns, case when pg_column_size(payload) <= 2000 then payload end, run_at, not_after,
            case
                when parked_for is not null then 'parked' when queue_position is null then 'scheduled'
                else 'available'
            end,
            queue_position, parked_for
        from asked
        -- In one order for all sessions, so that no two calls with the same keys wait for each other.
        order by unique_key, ordinal
        on conflict (unique_key) where unique_key is not null do nothing
        returning id, state, limit_key, payload is null as is_large, parked_for
    )
    select
        array_agg(added.id order by asked.ordinal), array_agg(added.state order by asked.ordinal),
        array_agg(distinct added.limit_key) filter (where added.state = 'available' and added.limit_key is not null),
        bool_or(is_large), bool_or(added.parked_for is not null)
    into ids, states, limited, any_large, ordered
    from asked
    left join added using (id);
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
