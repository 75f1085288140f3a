-- register_worker_v1: registers a worker and its kinds. Each start takes a new id, and so does each loss of a
-- result: jobs under an id without heartbeats are rescued.
--
-- lease is up to 1 hour. heartbeat_interval is a quarter of it by default, and a third at most. kinds is an array of
-- {name, queue, max_attempts, priority, …}: see errand_internal.register_kinds. Those of an app that isn't installed
-- are left out. Returns the new id, and for each queue the marks that workers of the same kinds have stored, including
-- those that have left or were lost (none: start at 0). A mark is valid for every worker for as long as the server
-- runs. started is errand_internal.server_start(), under which they were taken.
--
-- earlier has the ids of the same process that still have a lease. If one of them is drained, so is the new one. slots
-- is how many jobs it runs at once, for errand.workers; queue_slots is the same for each of its queues, for
-- errand.overdue, unless other databases share them. maintains says that it also does maintenance, and
-- maintenance_pause is errand_internal.maintenance_pause. calls_functions says that it also runs the kinds whose
-- handler is a SQL function, and calls_endpoints those whose handler is an endpoint. claims has the kinds that it is to
-- claim, and kinds_in_sql those of them that have a SQL function, with their timeouts in milliseconds. endpoints has
-- those that endpoints handle, each with its endpoint, and callback_key the key of errand_internal.callback_mac; both
-- are null if it calls none. handlers_version is errand_internal.handlers_version.
--
-- Raises ER421 if the database is a copy that nobody has adopted, ER422 for a longer lease, and ER409 as
-- errand_internal.register_kinds does.
create or replace function errand_internal.register_worker_v1(
    name text, version text, lease interval, queues text[], kinds jsonb, earlier bigint[] default null,
    slots int default null, maintains boolean default false, heartbeat_interval interval default null,
    queue_slots int[] default null, calls_functions boolean default false, calls_endpoints boolean default false
) returns table (
    worker_id bigint, marks jsonb, started text, maintenance_pause bigint, claims text[], kinds_in_sql jsonb,
    handlers_version bigint, endpoints jsonb, callback_key bytea)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    in_sql constant jsonb := (
        select coalesce(jsonb_object_agg(handler.kind, (extract(epoch from timeout) * 1000)::bigint), '{}')
        from errand.handler
        where calls_functions and function is not null);
    by_http constant jsonb := (case when calls_endpoints then errand_internal.kinds_of_endpoints() end);
    version constant bigint := errand_internal.handlers_version();
    known constant jsonb := (
        select coalesce(jsonb_agg(element), '[]')
        from jsonb_array_elements(register_worker_v1.kinds) as element
        where element ->> 'app' is null or element ->> 'app' in (select app.name from errand.app));
    names constant text[] := array(
        select element ->> 'name' from jsonb_array_elements(known) as element
        union
        select jsonb_object_keys(in_sql)
        union
        select jsonb_object_keys(by_http)
        order by 1);
begin
    perform errand_internal.check_home();
    perform errand_internal.check_lease(register_worker_v1.lease, 'register_worker');
    perform errand_internal.register_kinds((
        select coalesce(jsonb_agg(element), '[]')
        from jsonb_array_elements(known) as element
        where not in_sql ? (element ->> 'name')
            and element ->> 'name' not in (select kind from errand.handler where endpoint is not null)));
    return query
    with entered as (
        insert into errand.worker (
            name, version, lease, heartbeat_interval, queues, kinds, slots, queue_slots, maintains, likeness,
            server_start, drained_at, drained_by, drained_reason)
        select
            register_worker_v1.name, register_worker_v1.version, register_worker_v1.lease,
            least(
                coalesce(register_worker_v1.heartbeat_interval, register_worker_v1.lease / 4),
                register_worker_v1.lease / 3),
            register_worker_v1.queues,
            names, register_worker_v1.slots, register_worker_v1.queue_slots, register_worker_v1.maintains,
            hashtext(register_worker_v1.queues::text || names::text), errand_internal.server_start(),
            earlier.drained_at, earlier.drained_by, earlier.drained_reason
        from (select) as one
        left join (
            select other.drained_at, other.drained_by, other.drained_reason
            from errand.worker as other
            where other.id = any (register_worker_v1.earlier) and other.drained_at is not null
            order by other.id desc
            limit 1
        ) as earlier on true
        returning id, server_start
    ),
    counting as (
        insert into errand.counted (worker_id, upto_transaction)
        select id, pg_current_xact_id()::text::bigint from entered
    )
    select
        entered.id,
        errand_internal.known_marks(names, entered.server_start),
        entered.server_start,
        (
            select errand_internal.maintenance_pause(count(*), 0)
            from errand.worker as other
            where other.maintains and other.heartbeat_at > now() - other.lease / 2
                and other.id <> all (coalesce(register_worker_v1.earlier, '{}'))),
        names,
        in_sql,
        version,
        by_http,
        case when by_http is not null then (select key from errand.callback_key) end
    from entered;
end
$$;
