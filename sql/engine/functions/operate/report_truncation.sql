-- report_truncation: says by a notice that a dry run shows less than what matches: whoever only counts its rows sees no
-- column.
create or replace function errand.report_truncation(action text, max_jobs int, more bigint) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if more > 0 then
        raise notice '%: % more jobs match beyond the first %', action, more, max_jobs
            using hint = 'Once these are done, call it again for the others; max_jobs is 100000 at most.';
    end if;
end
$$;
comment on function errand.report_truncation(text, int, bigint) is
    'Says by a notice that a dry run shows less than what matches';
