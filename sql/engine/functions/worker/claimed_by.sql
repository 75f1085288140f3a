-- claimed_by: the jobs that these workers have claimed and may still hold, by the records of their claims. A job is
-- here once, in whatever state it is now.
create or replace function errand.claimed_by(worker_ids bigint[]) returns bigint[]
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(array_agg(distinct job_id), '{}')
    from errand.claim
    cross join unnest(job_ids) as job_id
    where worker_id = any (worker_ids)
$$;
comment on function errand.claimed_by(bigint[]) is 'The jobs that these workers have claimed and may still hold';

-- drop_claims: removes the records of these workers' claims, but for those of whose jobs they still hold one.
create or replace function errand.drop_claims(worker_ids bigint[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp set enable_seqscan = off set enable_bitmapscan = off
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
comment on function errand.drop_claims(bigint[]) is
    'Removes the records of these workers'' claims, but for those of whose jobs they still hold one';
