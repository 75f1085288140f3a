-- api_change_batch_v1: closes, cancels or retries a batch of the token whose hash is given, as errand.batch_close,
-- errand.batch_cancel and errand.batch_retry do: POST and DELETE below /v1/batches. A batch that is cancelled is closed
-- first.
--
-- Returns it as errand_internal.api_batch_v1 does, with the number of jobs that this call has changed: at most 10,000.
-- The audit names the token. Raises what these raise.
-- errand: for enqueuer
create or replace function errand_internal.api_change_batch_v1(
    hash bytea, batch_id bigint, change text, reason text default null
) returns jsonb
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    token constant errand.api_token := errand_internal.token_of(hash);
    existing constant errand.batch := errand_internal.batch_of_token(token, batch_id);
    changed bigint := 0;
begin
    perform set_config('errand.person', 'token ' || token.name, true);
    if change = 'retry' then
        changed := errand.batch_retry(existing.id, reason);
    else
        perform errand.batch_close(existing.id);
        if change = 'cancel' then
            changed := errand.batch_cancel(existing.id, reason);
        end if;
    end if;
    return errand_internal.api_batch_v1(hash, existing.id) || jsonb_build_object('changed', changed);
end
$$;
