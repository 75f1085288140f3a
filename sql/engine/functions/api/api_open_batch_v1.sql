-- api_open_batch_v1: opens a batch for the holder of a token, which the HTTP API has got by POST /v1/batches. Returns
-- the id.
--
-- hash is the token's SHA-256. request is the body: an object with the arguments of errand.batch_open by name. The
-- batch and the jobs of its callbacks belong to the login and to the token. Of a callback, what operators alone decide
-- isn't read: limit_key, rate_key, options, kind_defaults.
--
-- Raises ER401 for an unknown token, ER403 for a callback whose kind or queue is not the token's, and what
-- errand.batch_open raises.
-- errand: for enqueuer
create or replace function errand_internal.api_open_batch_v1(hash bytea, request json) returns bigint
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    caller constant errand.api_token := errand_internal.token_of(hash);
    fields jsonb := request;
    named text;
    callback jsonb;
    opened bigint;
begin
    perform errand_internal.check_fields('batch_open', request);
    foreach named in array '{on_success,on_finish,on_failure}'::text[] loop
        callback := fields -> named;
        continue when callback is null or jsonb_typeof(callback) <> 'object';
        perform errand_internal.check_fields('batch_open: ' || named, request -> named);
        callback := callback - '{limit_key,rate_key,options,kind_defaults}'::text[] || jsonb_build_object(
            'queue', errand_internal.queue_for_token(
                caller, callback ->> 'kind', callback ->> 'queue', 'batch_open: ' || named));
        fields := fields || jsonb_build_object(named, callback);
    end loop;
    opened := errand.batch_open(
        fields ->> 'name', fields -> 'on_success', fields -> 'on_finish', fields -> 'on_failure',
        fields -> 'properties');
    update errand.batch set token = caller.name where id = opened;
    return opened;
end
$$;
