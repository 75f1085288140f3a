-- record_home: records this database as that of the queue, without an entry in the audit.
create or replace function errand_internal.record_home() returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    insert into errand.home as existing (system_identifier, database_oid, database_name)
    select control.system_identifier, here.oid, here.datname
    from pg_control_system() as control
    cross join pg_database as here
    where here.datname = current_database()
    on conflict on constraint home_pkey do update
    set system_identifier = excluded.system_identifier, database_oid = excluded.database_oid,
        database_name = excluded.database_name, adopted_at = excluded.adopted_at
$$;
