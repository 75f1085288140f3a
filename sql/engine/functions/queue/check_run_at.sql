-- check_run_at: raises ER422 for a time that is not finite.
create or replace function errand.check_run_at(run_at timestamptz, context text default 'enqueue') returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if not isfinite(run_at) then
        raise exception '%: run_at: expected a finite time, got %', context, run_at
            using errcode = 'ER422', hint = 'For a job that is due now, leave it out.';
    end if;
end
$$;
comment on function errand.check_run_at(timestamptz, text) is 'Raises ER422 for a time that is not finite';
