-- check_time: raises ER422 for a time that is not finite or more than 10 years away: a mistaken unit, which nobody
-- would notice before then. Null is no time.
create or replace function errand_internal.check_time(
    given timestamptz, context text default 'enqueue', argument text default 'run_at'
) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    if not isfinite(given) or given > now() + interval '10 years' then
        raise exception '%: %: expected a finite time, at most 10 years from now, got %', context, argument, given
            using errcode = 'ER422';
    end if;
end
$$;
