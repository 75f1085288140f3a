-- end_streaks: ends the streak of refused tokens of a job's worker, since the service has accepted a push of it.
-- Streaks of workers that are gone end too: so are their settings.
create or replace function devices.end_streaks(job_id bigint, platform text) returns void
language sql security definer set search_path = pg_catalog, devices, pg_temp as $$
    delete from devices.streak
    where streak.platform = end_streaks.platform
        and (
            worker_id = (select job.worker_id from errand.job where job.id = end_streaks.job_id)
            or not exists (select from errand.worker where worker.id = worker_id))
$$;
