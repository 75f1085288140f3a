-- dependency_close: what jobs need from outside counts as up again: those that parked go, oldest first, 100 in the first
-- second and more in each that follows.
--
--   select errand.dependency_close('storage');
--
-- Answers whether it was open. Raises ER422 for a name out of bounds.
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
comment on function errand.dependency_close(text) is
    'Lets jobs go that a dependency has parked. Example: select errand.dependency_close(''storage'')';
