-- app_dropped: deletes the kinds of notifications of an app that is dropped. For errand migrate --drop-app.
create or replace function notify.app_dropped(app text) returns void
language sql set search_path = pg_catalog, notify, pg_temp as $$
    delete from notify.profile where profile.app = app_dropped.app
$$;
