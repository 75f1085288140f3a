-- store_handler: stores a SQL function as the handler of a kind, for errand.put_handler. With registered_by null it is
-- one of an app of errand's own, which errand migrate registers: its owner is known only when all rights are applied.
create or replace function errand_internal.store_handler(
    kind text, function text, timeout interval, queue text, max_attempts int, priority int, registered_by text
) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    problem text;
    quoted text;
    app text;
begin
    if (store_handler.timeout between interval '1 millisecond' and interval '5 minutes') is not true then
        raise exception 'put_handler: timeout: expected 1 ms to 5 min, got %', coalesce(timeout::text, 'null')
            using errcode = 'ER422', hint = 'A longer job works in batches: errand.outcome_again.';
    end if;
    problem := case
        when registered_by is not null
            then errand_internal.handler_problem(store_handler.function, store_handler.registered_by)
    end;
    if problem is not null then
        raise exception 'put_handler: function: %', problem using errcode = 'ER422';
    end if;
    select format('%I.%I', nspname, proname), app.name into quoted, app
    from pg_proc as routine
    join pg_namespace as space on space.oid = routine.pronamespace
    left join errand.app on app.name = nspname
    where routine.oid = to_regprocedure(store_handler.function || '(jsonb, jsonb)');
    perform errand_internal.store_kind(
        store_handler.kind, store_handler.queue, store_handler.max_attempts, store_handler.priority,
        store_handler.registered_by, 'put_handler', app);
    perform errand_internal.bind_kind(store_handler.kind, null);
    insert into errand.handler as old (kind, function, timeout, registered_by)
    values (store_handler.kind, quoted, store_handler.timeout, store_handler.registered_by)
    on conflict on constraint handler_pkey do update
    set function = excluded.function, endpoint = null, timeout = excluded.timeout, registered_at = now(),
        registered_by = excluded.registered_by
    where (old.function, old.timeout, old.registered_by)
        is distinct from (excluded.function, excluded.timeout, excluded.registered_by);
end
$$;
