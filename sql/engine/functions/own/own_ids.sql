-- own_ids: returns those of the jobs that the caller may follow: errand_internal.own_logins.
create or replace function errand_internal.own_ids(ids bigint[]) returns bigint[]
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    logins constant text[] := errand_internal.own_logins();
begin
    return array(
        select id from errand.job where id = any (ids) and options ->> 'owner' = any (logins)
        union all
        select id from errand.failed where id = any (ids) and options ->> 'owner' = any (logins)
        union all
        select id from errand.history where id = any (ids) and options ->> 'owner' = any (logins));
end
$$;
