-- batch_of_token: returns the batch of this id if it was opened by the HTTP API for this token.
--
-- Raises ER404, with context in front, for any other: with the same words for one of others and for one that is not
-- known.
create or replace function errand_internal.batch_of_token(
    token errand.api_token, batch_id bigint, context text default 'batch: id'
) returns errand.batch
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    existing errand.batch;
begin
    select * into existing
    from errand.batch
    where batch.id = batch_id and batch.token = (batch_of_token.token).name
        and batch.owner = any (errand_internal.own_logins());
    if not found then
        raise exception '%: expected a batch of the token''s, got %', context, coalesce(batch_id::text, 'null')
            using errcode = 'ER404', hint = 'A batch stays on record for 30 days after its end.';
    end if;
    return existing;
end
$$;
