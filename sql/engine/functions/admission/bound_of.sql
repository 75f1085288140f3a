-- bound_of: returns the limit of a key: its own, else the longest pattern, as tenant/* for tenant/42. Null = no limit.
create or replace function errand_internal.bound_of(limit_key text) returns errand.limit
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    bound errand.limit;
begin
    select * into bound from errand.limit as existing where existing.limit_key = bound_of.limit_key;
    if not found then
        select * into bound
        from errand.limit as existing
        where existing.limit_key like '%*' and starts_with(bound_of.limit_key, left(existing.limit_key, -1))
        order by length(existing.limit_key) desc
        limit 1;
    end if;
    return bound;
end
$$;
