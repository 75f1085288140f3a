-- remove_archives: deletes archives, cancels the jobs that make them, and lists their objects for removal, in one
-- transaction. The caller has locked their events, and enqueues the removal.
create or replace function events.remove_archives(archives uuid[], reason text, receipt bigint default null)
returns void
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
declare
    jobs bigint[];
    unfinished bigint[];
    failed bigint[];
begin
    with gone as (
        delete from events.archive where id = any (remove_archives.archives) returning made_at, job_id, key
    ),
    listed as (
        insert into media.removal (receipt_id, in_flight, key)
        -- The last request of an attempt may be on its way.
        select remove_archives.receipt, coalesce(made_at > clock_timestamp() - interval '90 seconds', true), key
        from gone
        on conflict on constraint removal_key do nothing
    )
    select array_agg(job_id order by job_id) into jobs from gone;
    if jobs is null then
        return;
    end if;
    select array_agg(id) into unfinished from errand.job where id = any (jobs);
    if unfinished is not null then
        perform errand.cancel(unfinished, remove_archives.reason);
    end if;
    select array_agg(id) into failed from errand.failed where id = any (jobs);
    if failed is not null then
        perform errand.discard(failed, remove_archives.reason);
    end if;
end
$$;
