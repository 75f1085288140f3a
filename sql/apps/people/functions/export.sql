-- export: returns a person's data in all installed apps, as one object with a member for each app that has some.
--
--   select jsonb_pretty(people.export('user-17'));
--
-- Photos are there by the keys of their objects. Rows of apps of your own are there if the app has a function
-- export_person(text). Raises ER422 without a user.
-- errand: for enqueuer, ops
create or replace function people.export(user_id text) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, people, pg_temp as $$
declare
    app text;
    part jsonb;
    whole jsonb := '{}';
begin
    perform errand_internal.check_user('export', $1);
    for app in select name from errand_internal.apps_with('export_person(text)') as name loop
        execute format('select %I.export_person($1)', app) into part using $1;
        if part is not null and part <> '{}' then
            whole := whole || jsonb_build_object(app, part);
        end if;
    end loop;
    return whole;
end
$$;
