-- app_contents: returns what errand migrate --drop-app would remove with an app: rows of its tables, objects in the
-- store that it knows of, its unfinished and failed jobs, schedules, kinds and guards. Counts all rows.
create or replace function errand_internal.app_contents(app text) returns table (what text, number bigint)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    kinds constant text[] := array(select name from errand.kind where kind.app = app_contents.app);
    part regclass;
    counted bigint;
begin
    what := 'rows';
    number := 0;
    for part in
        select oid from pg_class where relnamespace = to_regnamespace(quote_ident(app)) and relkind = 'r' order by 1
    loop
        execute format('select count(*) from %s', part) into counted;
        number := number + counted;
    end loop;
    return next;
    return query
    values
        ('objects in the store', errand_internal.remove_app_objects(app, null)),
        ('unfinished jobs', (select count(*) from errand.job where kind = any (kinds))),
        ('failed jobs', (select count(*) from errand.failed where kind = any (kinds))),
        ('schedules', (select count(*) from errand.schedule where schedule.app = app_contents.app)),
        ('kinds', cardinality(kinds)::bigint),
        ('guards', (select count(*) from errand.guard where starts_with(function, app_contents.app || '.')));
end
$$;
