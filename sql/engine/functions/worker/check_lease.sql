-- check_lease: refuses a lease under which a worker that is gone would keep its jobs for long. Raises ER422.
create or replace function errand.check_lease(lease interval) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if lease is null or lease <= interval '0' or lease > interval '1 hour' then
        raise exception 'register_worker: lease: expected up to 1 hour, got %', coalesce(lease::text, 'null')
            using errcode = 'ER422';
    end if;
end
$$;
comment on function errand.check_lease(interval) is 'Refuses a lease of more than an hour: ER422';
