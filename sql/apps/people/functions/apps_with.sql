-- apps_with: returns the installed apps that have a function of that name with one text argument, in the order in which
-- a person is erased: an app before those that it needs, so that all calls lock rows in the same order.
create or replace function people.apps_with(function text) returns setof text
language sql stable set search_path = pg_catalog, people, pg_temp as $$
    select app.name
    from errand.app
    where to_regprocedure(format('%I.%I(text)', app.name, apps_with.function)) is not null
    order by
        coalesce(
            array_position(
                '{moments,events,quotes,activity,identity,people,pairing,media,notify,rooms,devices}', app.name),
            -- Apps of others may need any of these.
            0),
        app.name
$$;
