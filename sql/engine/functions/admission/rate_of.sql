-- rate_of: returns the rate of a key: its own, else that of the longest pattern, as tenant/* for tenant/42. Null = no
-- rate.
create or replace function errand_internal.rate_of(rate_key text) returns errand.key_rate
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    rate errand.key_rate;
begin
    select * into rate from errand.key_rate as existing where existing.rate_key = rate_of.rate_key;
    if not found then
        select * into rate
        from errand.key_rate as existing
        where existing.rate_key like '%*' and starts_with(rate_of.rate_key, left(existing.rate_key, -1))
        order by length(existing.rate_key) desc
        limit 1;
    end if;
    return rate;
end
$$;
