-- horizon: for errand.horizon_blockers: returns what holds back vacuum. Runs as its owner, so that a monitor sees other
-- users' sessions; shows no statement.
-- errand: for ops, monitor
create or replace function errand_internal.horizon()
returns table (what text, name text, who text, since timestamptz, transactions int, detail text, hint text)
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select *
    from (
        select
            'session' as what,
            session.pid::text as name,
            coalesce(session.usename::text, '') as who,
            coalesce(session.xact_start, session.backend_start) as since,
            greatest(age(session.backend_xmin), age(session.backend_xid)) as transactions,
            concat_ws(', ', nullif(session.application_name, ''), session.state) as detail,
            format('select pg_terminate_backend(%s)', session.pid) as hint
        from pg_stat_activity as session
        where (session.backend_xmin is not null or session.backend_xid is not null)
            and session.pid <> pg_backend_pid() and session.backend_type <> 'autovacuum worker'
            and (session.datname = current_database() or session.backend_type = 'walsender')
        union all
        select 'prepared transaction', gid, owner::text, prepared, age(transaction), database::text,
            format('rollback prepared %L', gid)
        from pg_prepared_xacts
        union all
        select 'replication slot', slot_name::text, coalesce(plugin::text, slot_type), null,
            greatest(age(xmin), age(catalog_xmin)), case when active then 'active' else 'nobody reads from it' end,
            format('select pg_drop_replication_slot(%L)', slot_name)
        from pg_replication_slots
        where xmin is not null or catalog_xmin is not null
    ) as blocker
    where blocker.transactions > 0 or blocker.since < now() - interval '1 minute'
    order by blocker.transactions desc
$$;
