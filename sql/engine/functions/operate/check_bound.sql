-- check_bound: raises ER422 for a number of jobs that one call may not change.
create or replace function errand_internal.check_bound(action text, max_jobs int) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if max_jobs is null or max_jobs not between 1 and 100000 then
        raise exception '%: max_jobs: expected 1 to 100000, got %', action, coalesce(max_jobs::text, 'null')
            using errcode = 'ER422', hint = 'Call it again until it returns no row.';
    end if;
end
$$;
