-- cancel_jobs: cancels the jobs of an activity that is over, except the calling one.
create or replace function activity.cancel_jobs(activity uuid, reason text, except_job bigint default null) returns void
language plpgsql set search_path = pg_catalog, activity, pg_temp as $$
declare
    ids constant bigint[] := array(
        select id
        from errand.job
        where unique_key in ('activity_end/' || cancel_jobs.activity, 'activity_push/' || cancel_jobs.activity)
            and id is distinct from except_job);
begin
    if ids <> '{}' then
        perform errand.cancel(ids, cancel_jobs.reason);
    end if;
end
$$;
