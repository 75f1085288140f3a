-- drop_claims: removes the records of these workers' claims, except those with a job that they still hold.
create or replace function errand_internal.drop_claims(worker_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
begin
    delete from errand.claim
    where ctid = any (array(
        select old.ctid
        from errand.claim as old
        where old.worker_id = any (worker_ids)
            and not exists (
                select
                from errand.job
                where job.id = any (old.job_ids) and job.worker_id = old.worker_id and job.state = 'running')
        for update skip locked));
end
$$;
