-- dependency_close: closes the circuit of a dependency: it is up again. Parked jobs are released oldest first, 100 in
-- the first second and more in each next one.
--
--   select errand.dependency_close('storage');
--
-- Returns whether the circuit was open. Raises ER422 for a name that no dependency can have.
-- errand: for ops
-- errand: topic dependencies
create or replace function errand.dependency_close(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    was_open boolean;
begin
    perform errand.check_dependency('dependency_close', dependency_close.name);
    select opened_at is not null into was_open
    from errand.dependency
    where dependency.name = dependency_close.name
    for update;
    if coalesce(was_open, false) then
        perform errand.dependency_closed(dependency_close.name);
        perform errand.record_action('dependency_close', jsonb_build_object('name', dependency_close.name));
    end if;
    return coalesce(was_open, false);
end
$$;
