-- put_handler: registers a SQL function as the handler of a kind. Running workers know it within five seconds.
--
--   create function app.expire_invites(payload jsonb, state jsonb) returns errand.outcome
--   language plpgsql security definer set search_path = pg_catalog, app, pg_temp as $f$ … $f$;
--   select errand.put_handler('expire_invites', 'app.expire_invites');
--   select errand.enqueue('expire_invites');
--
-- What the function does and the completion of its job are one commit. It takes the payload, and as state null or what
-- it returned last by errand.outcome_again; null as its outcome means done. An error is a failed attempt
-- (errand.sqlstate_class). A call that takes longer than timeout, up to 5 minutes, is cancelled, and the attempt has
-- failed. It holds a snapshot, so that vacuum waits for it: work in batches.
--
-- The function is security definer, sets its search_path, and is owned by a role that you are or belong to, and that is
-- no superuser: it runs with the rights of its owner. queue, max_attempts and priority are the kind's defaults, null =
-- as they are, at first default, 10 and 2. The handler comes before one of the same kind in a program.
--
-- Raises ER422 for a name, a timeout or a function that may not be one, and ER409 for a kind of another login.
-- errand: for enqueuer, ops
-- errand: topic handlers
create or replace function errand.put_handler(
    kind text, function text, timeout interval default '30 seconds', queue text default null,
    max_attempts int default null, priority int default null
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform errand_internal.store_handler(
        put_handler.kind, put_handler.function, put_handler.timeout, put_handler.queue, put_handler.max_attempts,
        put_handler.priority, session_user);
end
$$;
