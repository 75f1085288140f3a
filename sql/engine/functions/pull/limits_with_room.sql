-- limits_with_room: returns up to 10 keys of limits for which jobs are parked though there is room. A worker of
-- Errand's program knows the keys that its completions free, one that pulls does not.
create or replace function errand_internal.limits_with_room() returns text[]
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    waits_for text := 'limit:';
    key text;
    keys text[] := '{}';
begin
    for index in 1..10 loop
        select parked_for into waits_for
        from errand.job
        where parked_for > waits_for
        order by parked_for
        limit 1;
        exit when not found or not starts_with(waits_for, 'limit:');
        key := substr(waits_for, length('limit:') + 1);
        if (errand_internal.limit_of(key) <= (select count(*) from errand_internal.taken_slots(key))) is not true then
            keys := keys || key;
        end if;
    end loop;
    return keys;
end
$$;
