-- api_batch_v1: returns how far a batch of the token whose hash is given is, as errand.batch_status does, as JSON: GET
-- /v1/batches.
--
-- Raises ER401 for an unknown token, and ER404 as errand_internal.batch_of_token does.
-- errand: for enqueuer
create or replace function errand_internal.api_batch_v1(hash bytea, batch_id bigint) returns jsonb
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set timezone = 'UTC' as $$
declare
    existing constant errand.batch := errand_internal.batch_of_token(errand_internal.token_of(hash), batch_id);
begin
    return (
        select jsonb_build_object('id', existing.id) || to_jsonb(status)
        from errand.batch_status(existing.id) as status);
end
$$;
