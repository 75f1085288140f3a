-- remove_app_objects: has an app list its objects for removal from the store: some of them, so that a call is short.
-- Returns how many are left, listed or not: 0 once the store has confirmed all. With reason null it lists none, and
-- returns how many the app knows of.
--
-- An app with objects has a function remove_objects(reason) that does so.
create or replace function errand_internal.remove_app_objects(app text, reason text) returns bigint
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    remaining bigint := 0;
begin
    if to_regprocedure(format('%I.remove_objects(text)', app)) is not null then
        execute format('select %I.remove_objects($1)', app) into remaining using reason;
    end if;
    return remaining;
end
$$;
