-- lacking_rights_v1: returns the grants that one of the five roles lacks: somebody has revoked them, or no migration
-- could grant them. For errand doctor, and for the start of a program.
-- errand: after missing_rights
-- errand: for enqueuer, ops, monitor
create or replace function errand_internal.lacking_rights_v1(role text) returns setof text
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select change
    from errand_internal.missing_rights(array[role]) as change
    where change like 'grant %' and change like '% to ' || role
    order by change
$$;
