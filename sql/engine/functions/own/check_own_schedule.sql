-- check_own_schedule: raises ER404 unless the caller may follow the jobs of that schedule: errand_internal.own_logins.
create or replace function errand_internal.check_own_schedule(action text, schedule text) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    logins constant text[] := errand_internal.own_logins();
begin
    perform errand_internal.check_known(
        action || ': name', 'a schedule of your own', schedule,
        array(select name from errand.schedule where owner = any (logins)));
end
$$;
