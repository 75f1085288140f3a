-- may_use_batch: returns whether the caller may use batches of this login: its own, those of roles that it is a member
-- of, and all if it is a worker or an operator, since jobs of a batch add jobs to it.
create or replace function errand_internal.may_use_batch(owner text) returns boolean
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    return owner = session_user
        or exists (
            select
            from pg_roles
            where rolname in (may_use_batch.owner, 'errand_worker', 'errand_ops')
                and pg_has_role(session_user, oid, 'member'));
end
$$;
