-- ask_guard: calls a guard and returns whether the job is still wanted. False and null both mean no.
--
-- Raises ER404 for a guard that is not registered, and any error that the guard raises.
create or replace function errand_internal.ask_guard(guard text, payload jsonb) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    called text := (select existing.function from errand.guard as existing where existing.name = ask_guard.guard);
    wanted boolean;
begin
    if called is null then
        raise exception 'guard %: expected a registered guard, got an unknown name', quote_literal(guard)
            using errcode = 'ER404';
    end if;
    -- errand.put_guard has quoted each part of the name.
    execute format('select %s($1)', called) into wanted using payload;
    return coalesce(wanted, false);
end
$$;
