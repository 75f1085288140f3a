-- register_kinds: enters the kinds that a worker brings, with the defaults that errand.enqueue uses for them.
--
-- kinds is an array of {name, queue, max_attempts, priority, is_whole, max_running, dependency, keep_ended_s,
-- keep_failed_s}. A worker of a version that doesn't know the last four, hence no is_whole, leaves them as they are. A
-- max_running that has changed sets the limit of the kind; what ops have set since then stays until the program changes
-- its mind.
--
-- Raises ER409 for another definition of a kind that a live worker of another login has brought: a login that was
-- stolen can't take away the jobs of other programs.
create or replace function errand.register_kinds(kinds jsonb) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    brought record;
    known errand.kind;
begin
    for brought in
        select kind.*
        from jsonb_array_elements(kinds) as element,
            jsonb_to_record(element) as kind(
                name text, queue text, max_attempts smallint, priority smallint, is_whole boolean, max_running int,
                dependency text, keep_ended_s double precision, keep_failed_s double precision)
        order by kind.name
    loop
        select * into known from errand.kind where name = brought.name;
        if known.registered_by <> session_user
            and (
                (known.queue, known.max_attempts, known.priority)
                    is distinct from (brought.queue, brought.max_attempts, brought.priority)
                or brought.is_whole and (known.max_running, known.dependency, known.keep_ended, known.keep_failed)
                    is distinct from (
                        brought.max_running, brought.dependency, make_interval(secs => brought.keep_ended_s),
                        make_interval(secs => brought.keep_failed_s)))
            and exists (
                select
                from errand.worker
                where login = known.registered_by and brought.name = any (worker.kinds) and heartbeat_at + lease > now())
        then
            raise exception 'register_worker: kind %: expected the definition that the workers of % have brought, got another',
                brought.name, known.registered_by
                using errcode = 'ER409', hint = 'One program defines a kind. Stop its workers first to have another do so.';
        end if;
        if brought.is_whole then
            if brought.max_running is distinct from known.max_running then
                perform errand.set_limit('kind/' || brought.name, brought.max_running);
            end if;
            known.max_running := brought.max_running;
            known.limit_key := case when brought.max_running is not null then 'kind/' || brought.name end;
            known.dependency := brought.dependency;
            known.keep_ended := make_interval(secs => brought.keep_ended_s);
            known.keep_failed := make_interval(secs => brought.keep_failed_s);
        end if;
        insert into errand.kind as old (
            name, queue, max_attempts, priority, max_running, limit_key, dependency, keep_ended, keep_failed)
        values (
            brought.name, brought.queue, brought.max_attempts, brought.priority, known.max_running, known.limit_key,
            known.dependency, known.keep_ended, known.keep_failed)
        on conflict on constraint kind_pkey do update
        set queue = excluded.queue, max_attempts = excluded.max_attempts, priority = excluded.priority,
            max_running = excluded.max_running, limit_key = excluded.limit_key, dependency = excluded.dependency,
            keep_ended = excluded.keep_ended, keep_failed = excluded.keep_failed, registered_at = now(),
            registered_by = excluded.registered_by
        where (old.queue, old.max_attempts, old.priority, old.max_running, old.dependency, old.keep_ended, old.keep_failed)
            is distinct from (
                excluded.queue, excluded.max_attempts, excluded.priority, excluded.max_running, excluded.dependency,
                excluded.keep_ended, excluded.keep_failed);
    end loop;
end
$$;
comment on function errand.register_kinds(jsonb) is 'Enters the kinds that a worker brings, with their defaults';
