-- guard_drop: a guard is asked no more. Jobs that name it fail when they are claimed, so drop it when there are none.
--
--   select errand.guard_drop('invite_is_open');
--
-- Answers whether there was one.
create or replace function errand.guard_drop(name text) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    delete from errand.guard as known where known.name = guard_drop.name;
    return found;
end
$$;
comment on function errand.guard_drop(text) is 'Removes a guard; answers whether there was one';
