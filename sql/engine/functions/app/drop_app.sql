-- drop_app: drops an app: cancels its unfinished jobs, gives up its failed ones, and deletes its schedules, kinds,
-- guards and schema. Its ended jobs stay in the history for their time. For errand migrate --drop-app, which checks
-- that no other app needs it.
--
-- Another app that has rows about it has a function app_dropped(app), which is called.
--
-- Raises ER404 if it isn't installed, ER409 if it has objects in the store, ER422 without a reason.
-- errand: after remove_app_objects
create or replace function errand_internal.drop_app(app text, reason text) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    kinds constant text[] := array(select name from errand.kind where kind.app = drop_app.app);
    remaining bigint;
    batch bigint[];
    existing text;
begin
    perform errand_internal.check_reason('drop_app', reason);
    -- As errand migrate: no other one adds or drops apps meanwhile.
    lock table errand.migration in share row exclusive mode;
    delete from errand.app where name = drop_app.app;
    if not found then
        raise exception 'drop_app: app: expected an installed one, got %', quote_nullable(left(drop_app.app, 100))
            using errcode = 'ER404';
    end if;
    remaining := errand_internal.remove_app_objects(drop_app.app, reason);
    if remaining > 0 then
        raise exception 'drop_app: app %: expected no objects in the store, got %', drop_app.app, remaining
            using errcode = 'ER409';
    end if;
    loop
        batch := array(select id from errand.job where kind = any (kinds) limit 1000);
        exit when batch = '{}';
        perform errand.cancel(batch, reason);
    end loop;
    loop
        batch := array(select id from errand.failed where kind = any (kinds) limit 1000);
        exit when batch = '{}';
        perform errand.discard(batch, reason);
    end loop;
    for existing in select name from errand.schedule where schedule.app = drop_app.app order by name loop
        perform errand.drop_schedule(existing);
    end loop;
    for existing in select limit_key from errand.kind where name = any (kinds) and limit_key is not null order by 1 loop
        perform errand.set_limit(existing, null);
    end loop;
    delete from errand.handler where kind = any (kinds);
    delete from errand.kind where name = any (kinds);
    delete from errand.guard where starts_with(function, drop_app.app || '.');
    execute format('drop schema %I cascade', drop_app.app);
    for existing in select name from errand_internal.apps_with('app_dropped(text)') as name loop
        execute format('select %I.app_dropped($1)', existing) using drop_app.app;
    end loop;
    delete from errand.declaration where part = drop_app.app;
    delete from errand.script where starts_with(name, drop_app.app || '/');
    delete from errand.migration where starts_with(name, drop_app.app || '/');
    perform errand_internal.record_action('drop_app', jsonb_build_object('app', drop_app.app), reason);
end
$$;
