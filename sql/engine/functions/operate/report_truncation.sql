-- report_truncation: raises a notice that a dry run shows fewer jobs than match. A caller that only counts the rows
-- does not see the column beyond.
create or replace function errand_internal.report_truncation(action text, max_jobs int, more bigint) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if more > 0 then
        raise notice '%: % more jobs match beyond the first %', action, more, max_jobs
            using hint = 'When these are done, call it again for the others; max_jobs is at most 100000.';
    end if;
end
$$;
