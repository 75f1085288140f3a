-- copy_of: describes the database of which this one is a copy; null if the queue was created or adopted here.
--
-- A database is identified by its cluster, oid and name. A promoted standby and a point-in-time recovery keep all
-- three. A dump restored elsewhere, createdb --template, pg_upgrade and a rename change at least one of them.
-- errand: for worker, ops, monitor
-- errand: topic backups
create or replace function errand.copy_of() returns text
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    home errand.home;
    here errand.home;
begin
    select * into home from errand.home;
    select control.system_identifier, existing.oid, existing.datname
    into here.system_identifier, here.database_oid, here.database_name
    from pg_control_system() as control
    cross join pg_database as existing
    where existing.datname = current_database();
    if (home.system_identifier, home.database_oid, home.database_name)
        is not distinct from (here.system_identifier, here.database_oid, here.database_name)
    then
        return null;
    elsif home.system_identifier is null then
        return format('an unknown database: errand.home is empty; this is %s', here.database_name);
    end if;
    return format(
        '%s (oid %s, cluster %s); this is %s (oid %s, cluster %s)', home.database_name, home.database_oid,
        home.system_identifier, here.database_name, here.database_oid, here.system_identifier);
end
$$;
