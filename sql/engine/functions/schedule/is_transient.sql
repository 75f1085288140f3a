-- is_transient: whether an error says that a statement may succeed later: a lost or refused connection, a conflict with
-- another session, a lock, a lack of resources, a cancelled statement.
create or replace function errand_internal.is_transient(state text) returns boolean
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select state ~ '^(08|25|40|53|55|57|58)' or state = 'ER421'
$$;
