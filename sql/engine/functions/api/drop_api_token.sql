-- drop_api_token: drops a token of the HTTP API: it is refused from then on. Its jobs stay and run.
--
--   select errand.drop_api_token('shop', reason => 'the shop has moved');
--
-- A token that is set later under the same name has the same jobs. The audit has the call. Raises ER404 for a name that
-- no token has.
-- errand: for ops
-- errand: topic api
create or replace function errand.drop_api_token(name text, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    if drop_api_token.reason is not null then
        perform errand_internal.check_reason('drop_api_token', drop_api_token.reason);
    end if;
    delete from errand.api_token as existing where existing.name = drop_api_token.name;
    if not found then
        perform errand_internal.check_known(
            'drop_api_token: name', 'one that a token has', drop_api_token.name,
            array(select name from errand.api_token));
    end if;
    perform errand_internal.record_action(
        'drop_api_token', jsonb_build_object('name', drop_api_token.name), drop_api_token.reason);
end
$$;
