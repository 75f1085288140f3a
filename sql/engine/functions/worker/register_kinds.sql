-- register_kinds: registers the kinds of a worker, with the defaults of errand.enqueue for them.
--
-- kinds is an array of {name, app, queue, max_attempts, priority, is_whole, max_running, circuits, keep_ended_s,
-- keep_failed_s, retry_delays_s, retry_jitter, on_failure, rate_key, order_key, if_head_fails}. Without is_whole all
-- after it stay as they are. A max_running that has changed sets the limit of the kind. A limit that an operator has
-- set since then stays until the program changes max_running.
--
-- Raises ER409 for another definition of a kind that a live worker of another login has registered: a stolen login
-- can't take over the jobs of other programs. Raises ER422 for a retention of less than a day: such a login can't
-- delete what has just ended. errand.set_retention allows less.
create or replace function errand_internal.register_kinds(kinds jsonb) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    given record;
    existing errand.kind;
    delays interval[];
begin
    for given in
        select kind.*
        from jsonb_array_elements(kinds) as element,
            jsonb_to_record(element) as kind(
                name text, app text, queue text, max_attempts smallint, priority smallint, is_whole boolean,
                max_running int, circuits text[], keep_ended_s double precision, keep_failed_s double precision,
                retry_delays_s double precision[], retry_jitter real, on_failure text,
                rate_key text, order_key text, if_head_fails text)
        order by kind.name
    loop
        if least(given.keep_ended_s, given.keep_failed_s) < 86400 then
            raise exception 'register_worker: kind %: retention: expected at least 1 day, got % s', given.name,
                least(given.keep_ended_s, given.keep_failed_s)
                using errcode = 'ER422', hint = 'select errand.set_retention(…) sets a shorter one.';
        end if;
        delays := (
            select array_agg(make_interval(secs => seconds) order by index)
            from unnest(given.retry_delays_s) with ordinality as delay(seconds, index));
        select * into existing from errand.kind where name = given.name;
        if existing.registered_by <> session_user
            and (
                (existing.queue, existing.max_attempts, existing.priority)
                    is distinct from (given.queue, given.max_attempts, given.priority)
                or given.is_whole and (existing.max_running, existing.circuits, existing.keep_ended,
                    existing.keep_failed, existing.retry_delays, existing.retry_jitter, existing.on_failure,
                    existing.order_key, existing.if_head_fails)
                    is distinct from (
                        given.max_running, given.circuits, make_interval(secs => given.keep_ended_s),
                        make_interval(secs => given.keep_failed_s), delays, given.retry_jitter, given.on_failure,
                        given.order_key, given.if_head_fails))
            and exists (
                select
                from errand.worker
                where login = existing.registered_by and given.name = any (worker.kinds)
                    and heartbeat_at + lease > now())
        then
            raise exception 'register_worker: kind %: expected the definition of the workers of %, got another',
                given.name, existing.registered_by
                using errcode = 'ER409', hint = 'One program defines a kind. Stop its workers before another one does.';
        end if;
        perform errand_internal.order_options(
            format('register_worker: kind %s', given.name), coalesce(given.order_key, 'any'), given.if_head_fails, null,
            null);
        if given.is_whole then
            if given.max_running is distinct from existing.max_running then
                perform errand.set_limit('kind/' || given.name, given.max_running);
            end if;
            existing.max_running := given.max_running;
            existing.limit_key := case when given.max_running is not null then 'kind/' || given.name end;
            existing.circuits := given.circuits;
            existing.keep_ended := make_interval(secs => given.keep_ended_s);
            existing.keep_failed := make_interval(secs => given.keep_failed_s);
            existing.retry_delays := delays;
            existing.retry_jitter := given.retry_jitter;
            existing.on_failure := given.on_failure;
            existing.rate_key := given.rate_key;
            existing.order_key := given.order_key;
            existing.if_head_fails := given.if_head_fails;
        end if;
        insert into errand.kind as old (
            name, app, queue, max_attempts, priority, max_running, limit_key, circuits, keep_ended, keep_failed,
            retry_delays, retry_jitter, on_failure, rate_key, order_key, if_head_fails)
        values (
            given.name, given.app, given.queue, given.max_attempts, given.priority, existing.max_running,
            existing.limit_key, existing.circuits, existing.keep_ended, existing.keep_failed, existing.retry_delays,
            existing.retry_jitter, existing.on_failure, existing.rate_key,
            existing.order_key, existing.if_head_fails)
        on conflict on constraint kind_pkey do update
        set app = excluded.app, queue = excluded.queue, max_attempts = excluded.max_attempts,
            priority = excluded.priority, max_running = excluded.max_running, limit_key = excluded.limit_key,
            circuits = excluded.circuits, keep_ended = excluded.keep_ended, keep_failed = excluded.keep_failed,
            retry_delays = excluded.retry_delays, retry_jitter = excluded.retry_jitter,
            on_failure = excluded.on_failure, rate_key = excluded.rate_key, order_key = excluded.order_key,
            if_head_fails = excluded.if_head_fails,
            registered_at = now(), registered_by = excluded.registered_by
        where (old.app, old.queue, old.max_attempts, old.priority, old.max_running, old.circuits, old.keep_ended,
            old.keep_failed, old.retry_delays, old.retry_jitter, old.on_failure, old.rate_key, old.order_key,
            old.if_head_fails)
            is distinct from (
                excluded.app, excluded.queue, excluded.max_attempts, excluded.priority, excluded.max_running,
                excluded.circuits, excluded.keep_ended, excluded.keep_failed, excluded.retry_delays,
                excluded.retry_jitter, excluded.on_failure, excluded.rate_key, excluded.order_key,
                excluded.if_head_fails);
    end loop;
end
$$;
