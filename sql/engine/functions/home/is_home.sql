-- is_home: returns whether the queue was created or adopted in this database, so that it is no copy: see
-- errand.copy_of.
--
-- A session stays in its database, so the session remembers a yes: a call takes 1 us, the first one 100 us.
create or replace function errand_internal.is_home() returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if current_setting('errand_internal.is_home', true) = 'yes' then
        return true;
    elsif errand.copy_of() is null then
        perform set_config('errand_internal.is_home', 'yes', false);
        return true;
    end if;
    return false;
end
$$;
