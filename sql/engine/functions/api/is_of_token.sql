-- is_of_token: returns whether a job was enqueued by the HTTP API for this token.
create or replace function errand_internal.is_of_token(job_id bigint, token text) returns boolean
-- A plan from when the tables were empty would read all of them forever.
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
begin
    return exists (
        select from errand.job where id = job_id and options ->> 'token' = is_of_token.token
        union all
        select from errand.failed where id = job_id and options ->> 'token' = is_of_token.token
        union all
        select from errand.history where id = job_id and options ->> 'token' = is_of_token.token);
end
$$;
