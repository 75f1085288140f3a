-- put_endpoint: allows jobs to be posted to a server, by the name under which errand.put_http_handler finds it. An
-- endpoint of that name gets these settings instead of its own. Running workers know it within five seconds.
--
--   select errand.put_endpoint('billing', 'https://billing.example/jobs', secret_name => 'billing');
--   select errand.put_http_handler('send_invoice', 'billing');
--   select errand.test_endpoint('billing');
--
-- Requests are signed by a secret that the workers have under secret_name, in ERRAND_ENDPOINT_SECRETS. A request that
-- takes longer than timeout, 100 ms to 5 min, has failed. A job that was accepted with 202 waits for errand.callback,
-- for callback_timeout, 1 s to 7 days. max_running is how many requests run at once: the limit endpoint/NAME of jobs
-- enqueued from now on that name none of their own. While the circuit endpoint.NAME is open, no job of the endpoint
-- starts. allows_private allows http:// and addresses of private networks.
--
-- Raises ER422 for a value out of bounds; it doesn't show the URL, whose query may be secret.
-- errand: after check_endpoint
-- errand: for ops
-- errand: topic endpoints
create or replace function errand.put_endpoint(
    name text, url text, secret_name text, timeout interval default '30 seconds', max_running int default null,
    allows_private boolean default false, callback_timeout interval default '24 hours', reason text default null
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    wanted constant errand.endpoint := row(
        now(), put_endpoint.timeout, put_endpoint.callback_timeout, put_endpoint.max_running,
        put_endpoint.allows_private, put_endpoint.name, put_endpoint.url, put_endpoint.secret_name, session_user);
    former errand.endpoint;
begin
    if put_endpoint.reason is not null then
        perform errand_internal.check_reason('put_endpoint', put_endpoint.reason);
    end if;
    perform errand_internal.check_endpoint(wanted);
    select * into former from errand.endpoint as existing where existing.name = put_endpoint.name for update;
    insert into errand.endpoint as existing
    select wanted.*
    on conflict on constraint endpoint_pkey do update
    set set_at = excluded.set_at, timeout = excluded.timeout, callback_timeout = excluded.callback_timeout,
        max_running = excluded.max_running, allows_private = excluded.allows_private, url = excluded.url,
        secret_name = excluded.secret_name, set_by = excluded.set_by;
    -- A limit that an operator has set since then stays until max_running changes.
    if put_endpoint.max_running is distinct from former.max_running
        and (
            put_endpoint.max_running is not null
            or exists (select from errand.limit where limit_key = 'endpoint/' || put_endpoint.name))
    then
        perform errand.set_limit('endpoint/' || put_endpoint.name, put_endpoint.max_running, put_endpoint.reason);
    end if;
    perform errand_internal.bind_kind(kind, put_endpoint.name)
    from errand.handler
    where endpoint = put_endpoint.name
    order by kind;
    perform errand_internal.record_action(
        'put_endpoint',
        to_jsonb(wanted) - '{set_at,set_by}'::text[]
            || jsonb_build_object('url', split_part(put_endpoint.url, '?', 1)),
        put_endpoint.reason);
end
$$;
