-- own_logins: returns the logins whose jobs the caller may follow: its own, and the roles that it is a member of.
create or replace function errand_internal.own_logins() returns text[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(array_agg(rolname::text), '{}') from pg_roles where pg_has_role(session_user, oid, 'member')
$$;
