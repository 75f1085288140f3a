-- api_job_v1: returns a job of the login and the token whose hash is given, as errand.job does, as JSON: GET /v1/jobs.
--
-- Raises ER401 for an unknown token. Raises ER404 for any other job, with the same words for a job of others and for
-- one that is not known.
-- errand: for enqueuer
create or replace function errand_internal.api_job_v1(
    hash bytea, job_id bigint, out job jsonb, out has_ended boolean
)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp set timezone = 'UTC' as $$
declare
    token constant errand.api_token := errand_internal.token_of(hash);
begin
    if errand_internal.ids_of_token(array[job_id], token.name) <> '{}' then
        select to_jsonb(own), own.finished_at is not null into job, has_ended from errand.job(job_id) as own;
    end if;
    if job is null then
        raise exception 'job: id: expected a job of the token''s, got %', coalesce(job_id::text, 'null')
            using errcode = 'ER404';
    end if;
end
$$;
