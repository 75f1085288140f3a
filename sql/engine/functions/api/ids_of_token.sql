-- ids_of_token: returns those of the jobs that were enqueued by the HTTP API for this token, by a login whose jobs the
-- caller may follow (errand_internal.own_ids).
create or replace function errand_internal.ids_of_token(ids bigint[], token text) returns bigint[]
-- A plan from when the tables were empty would read all of them forever.
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    own constant bigint[] := errand_internal.own_ids(ids);
begin
    return array(
        select id from errand.job where id = any (own) and options ->> 'token' = ids_of_token.token
        union all
        select id from errand.failed where id = any (own) and options ->> 'token' = ids_of_token.token
        union all
        select id from errand.history where id = any (own) and options ->> 'token' = ids_of_token.token);
end
$$;
