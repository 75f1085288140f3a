-- api_cancel_v1: cancels a job of the login and the token whose hash is given, as errand.cancel_own does: DELETE
-- /v1/jobs. Returns the job as errand_internal.api_job_v1 does; a job that has ended stays as it is.
--
-- The audit names the token. Raises what errand_internal.api_job_v1 raises, and ER422 for a reason over 1,000
-- characters.
-- errand: for enqueuer
create or replace function errand_internal.api_cancel_v1(hash bytea, job_id bigint, reason text) returns jsonb
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform errand_internal.api_job_v1(hash, job_id);
    perform set_config('errand.person', 'token ' || (errand_internal.token_of(hash)).name, true);
    perform errand.cancel_own(array[job_id], reason);
    return (select job from errand_internal.api_job_v1(hash, job_id));
end
$$;
