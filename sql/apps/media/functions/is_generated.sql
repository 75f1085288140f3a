-- is_generated: returns whether a job of an app makes the objects of such keys: no app hands over an object there, or
-- submits one as an original. Calls generates(key) of each app that has it.
create or replace function media.is_generated(key text) returns boolean
language plpgsql stable set search_path = pg_catalog, media, pg_temp as $$
declare
    app text;
    is_so boolean;
begin
    for app in select name from errand_internal.apps_with('generates(text)') as name loop
        execute format('select %I.generates($1)', app) into is_so using is_generated.key;
        if is_so then
            return true;
        end if;
    end loop;
    return false;
end
$$;
