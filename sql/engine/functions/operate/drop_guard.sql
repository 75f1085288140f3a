-- drop_guard: removes a guard. Jobs that name it then fail at their claim, so remove it when no job does.
--
--   select errand.drop_guard('invite_is_open');
--
-- Returns whether the guard existed.
create or replace function errand.drop_guard(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    delete from errand.guard as existing where existing.name = drop_guard.name;
    return found;
end
$$;
