-- may_signal: returns whether a login's signals count for a wait: it is a member of the role that the wait names, or of
-- errand_ops.
create or replace function errand_internal.may_signal(login text, role text) returns boolean
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select to_regrole(quote_ident(login)) is not null
        and (
            to_regrole(quote_ident(role)) is not null and pg_has_role(login, quote_ident(role)::regrole, 'member')
            or to_regrole('errand_ops') is not null and pg_has_role(login, 'errand_ops', 'member'))
$$;
