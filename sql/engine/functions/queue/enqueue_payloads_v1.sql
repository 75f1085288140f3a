-- enqueue_payloads_v1: enqueues many jobs of one kind, for the Swift library.
--
-- Returns the jobs' ids in the order of the payloads. Raises ER422 and ER413 as errand.enqueue does. What all of them
-- share is computed once and not for each row, which saves 0.5 us of 7 a job.
-- errand: for enqueuer
create or replace function errand.enqueue_payloads_v1(
    kind text,
    payloads jsonb[],
    queue text default null,
    run_at timestamptz default null,
    priority int default null,
    max_attempts int default null,
    kind_defaults jsonb default null
) returns bigint[]
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    due constant timestamptz := coalesce(enqueue_payloads_v1.run_at, now());
    initial text := case when due > now() then 'scheduled' else 'available' end;
    any_large boolean;
    target text;
    urgency smallint;
    tries smallint;
    limited text;
    rated text;
    ordering jsonb;
    waits_for text;
    ids bigint[];
begin
    perform errand_internal.check_job(
        enqueue_payloads_v1.kind, '{}', enqueue_payloads_v1.queue, enqueue_payloads_v1.priority,
        enqueue_payloads_v1.max_attempts, null);
    perform errand_internal.check_time(enqueue_payloads_v1.run_at);
    -- The bounds of errand_internal.check_job without a call, which takes 7 us. The call remains for values out of
    -- bounds.
    perform errand_internal.check_job(enqueue_payloads_v1.kind, payload, null, null, null, null)
    from unnest(payloads) as payload
    where (
        pg_column_size(payload) <= 2000 and octet_length(payload::text) <= 262144
        and not jsonb_path_exists(payload, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")')
    ) is not true;
    any_large := exists (select from unnest(payloads) as payload where pg_column_size(payload) > 2000);
    select
        coalesce(enqueue_payloads_v1.queue, defaults.queue, 'default'),
        coalesce(enqueue_payloads_v1.priority, defaults.priority, 2),
        coalesce(enqueue_payloads_v1.max_attempts, defaults.max_attempts, 10),
        defaults.limit_key, defaults.rate_key,
        case
            when defaults.order_key is not null
                then errand_internal.order_options('enqueue', defaults.order_key, null, null, defaults.if_head_fails)
        end
    into target, urgency, tries, limited, rated, ordering
    from errand_internal.kind_defaults(enqueue_payloads_v1.kind, enqueue_payloads_v1.kind_defaults) as defaults;
    if ordering is not null and initial = 'available' then
        initial := 'parked';
        waits_for := 'order:' || (ordering ->> 'order_key');
    end if;
    perform pg_current_xact_id();
    with added as (
        insert into errand.job (
            queue, kind, payload, run_at, state, queue_position, priority, max_attempts, limit_key, rate_key,
            options, parked_for)
        select
            target, enqueue_payloads_v1.kind, case when pg_column_size(payload) <= 2000 then payload end, due, initial,
            case when initial = 'available' then nextval('errand.job_position') end, urgency, tries, limited,
            rated, ordering, waits_for
        from unnest(payloads) as payload
        returning id
    )
    select array_agg(id) into ids from added;
    if any_large then
        perform errand_internal.store_payloads(ids, payloads);
    end if;
    if limited is not null and initial = 'available' then
        perform errand_internal.park_beyond_limits(ids, array[limited]);
    end if;
    if waits_for is not null then
        perform errand_internal.begin_order(ids);
    end if;
    perform errand_internal.wake();
    return coalesce(ids, '{}');
end
$$;
