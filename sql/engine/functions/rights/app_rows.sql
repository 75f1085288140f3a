-- app_rows: returns the rows of the function of that name of each app that has one.
create or replace function errand_internal.app_rows(function text) returns setof record
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    app text;
begin
    for app in select app.name from errand.app order by app.name loop
        if to_regprocedure(format('%I.%I()', app, function)) is not null then
            return query execute format('select * from %I.%I()', app, function);
        end if;
    end loop;
end
$$;
