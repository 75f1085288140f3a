-- check_lease: raises ER422 for a lease over an hour: a lost worker would keep its jobs for so long.
create or replace function errand_internal.check_lease(lease interval, context text) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if lease is null or lease <= interval '0' or lease > interval '1 hour' then
        raise exception '%: lease: expected up to 1 hour, got %', context, coalesce(lease::text, 'null')
            using errcode = 'ER422';
    end if;
end
$$;
