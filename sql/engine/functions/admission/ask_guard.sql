-- ask_guard: whether a job is still wanted, in the words of its guard. False and null are both a no.
--
-- Raises ER404 where the guard is not registered (any more), else what the guard raises.
create or replace function errand.ask_guard(guard text, payload jsonb) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    called text := (select known.function from errand.guard as known where known.name = ask_guard.guard);
    wanted boolean;
begin
    if called is null then
        raise exception 'guard %: expected one of errand.guard, got none of this name', quote_literal(guard)
            using errcode = 'ER404';
    end if;
    -- Registered by the owner, who quoted each part of the name: see errand.guard_put.
    execute format('select %s($1)', called) into wanted using payload;
    return coalesce(wanted, false);
end
$$;
comment on function errand.ask_guard(text, jsonb) is 'Whether a job is still wanted, as its guard says';
