-- guard_drop: removes a guard. Jobs that name it then fail at their claim, so remove it when no job does.
--
--   select errand.guard_drop('invite_is_open');
--
-- Returns whether the guard existed.
create or replace function errand.guard_drop(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    delete from errand.guard as known where known.name = guard_drop.name;
    return found;
end
$$;
