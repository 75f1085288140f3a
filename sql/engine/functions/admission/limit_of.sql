-- limit_of: returns how many jobs with this key may run at once; null = no limit.
-- errand: after bound_of
create or replace function errand_internal.limit_of(limit_key text) returns int
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    return (errand_internal.bound_of(limit_of.limit_key)).max_running;
end
$$;
