-- limit_of: returns how many jobs with this key may run at once; null = no limit.
--
-- The key's own limit counts first, then the longest pattern: tenant/* applies to tenant/42.
create or replace function errand.limit_of(limit_key text) returns int
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    most int;
begin
    select known.max_running into most from errand.limit as known where known.limit_key = limit_of.limit_key;
    if not found then
        select known.max_running into most
        from errand.limit as known
        where known.limit_key like '%*' and starts_with(limit_of.limit_key, left(known.limit_key, -1))
        order by length(known.limit_key) desc
        limit 1;
    end if;
    return most;
end
$$;
comment on function errand.limit_of(text) is
    'Returns how many jobs with this limit_key may run at once; null = no limit';
