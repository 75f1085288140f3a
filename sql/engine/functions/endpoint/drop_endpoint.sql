-- drop_endpoint: removes an endpoint that handles no kind any more. Its limit goes, and its circuit closes.
--
--   select errand.drop_endpoint('billing', 'moved into the program');
--
-- Raises ER404 for an unknown name, ER409 while kinds point to it, and ER422 without a reason.
-- errand: for ops
-- errand: topic endpoints
create or replace function errand.drop_endpoint(name text, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    kinds text[];
begin
    perform errand_internal.check_reason('drop_endpoint', drop_endpoint.reason);
    perform from errand.endpoint as existing where existing.name = drop_endpoint.name for update;
    if not found then
        perform errand_internal.check_known(
            'drop_endpoint: name', 'an endpoint', drop_endpoint.name, array(select name from errand.endpoint));
    end if;
    kinds := array(select kind from errand.handler where endpoint = drop_endpoint.name order by kind);
    if kinds <> '{}' then
        raise exception 'drop_endpoint: endpoint %: expected one that handles no kind, got one of %',
            drop_endpoint.name, errand_internal.first_names(kinds)
            using errcode = 'ER409', hint = 'First, for each kind: select errand.drop_handler(…)';
    end if;
    delete from errand.endpoint as existing where existing.name = drop_endpoint.name;
    if exists (select from errand.limit where limit_key = 'endpoint/' || drop_endpoint.name) then
        perform errand.set_limit('endpoint/' || drop_endpoint.name, null, drop_endpoint.reason);
    end if;
    perform errand.circuit_close('endpoint.' || drop_endpoint.name);
    perform errand_internal.record_action(
        'drop_endpoint', jsonb_build_object('name', drop_endpoint.name), drop_endpoint.reason);
end
$$;
