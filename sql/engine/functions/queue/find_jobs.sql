-- find_jobs: returns the unfinished jobs for the result of errand.enqueue_many: the inserted ones (ids), and for a null
-- in ids the job that has the key. Null if that job has ended or has expired. Returns ids and states in the order of
-- jobs.
-- errand: after is_expired
create or replace function errand_internal.find_jobs(jobs jsonb, inout ids bigint[], out states text[])
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select array_agg(live.id order by item.ordinality), array_agg(live.state order by item.ordinality)
    from jsonb_array_elements(jobs) with ordinality as item
    join unnest(ids) with ordinality as added(id, ordinality) using (ordinality)
    left join lateral (
        select job.id, job.state from errand.job where job.id = added.id
        union all
        select job.id, job.state
        from errand.job
        where added.id is null and job.unique_key = item.value ->> 'unique_key' and not errand_internal.is_expired(job)
    ) as live on true
$$;
