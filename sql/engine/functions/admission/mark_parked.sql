-- mark_parked: of the jobs of a priority that wait for a limit, those up to this one have been released: the next
-- release reads behind it. A hint: claims lower it for jobs that they park, and errand.scan_below_mark for others.
--
-- The caller holds the lock of errand.lock_limits. The mark before it is deleted, except where errand.prune_v1 has it
-- locked: of several the newest counts.
create or replace function errand.mark_parked(limit_key text, priority smallint, run_at timestamptz, job_id bigint)
returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp
set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
declare
    before timestamptz;
    row_id tid;
begin
    select known.marked_at, known.ctid into before, row_id
    from errand.limit_mark as known
    where known.limit_key = mark_parked.limit_key and known.priority = mark_parked.priority
    order by known.marked_at desc
    limit 1;
    if found then
        delete from errand.limit_mark
        where ctid = (select ctid from errand.limit_mark where ctid = row_id for update skip locked);
    end if;
    insert into errand.limit_mark (limit_key, priority, marked_at, run_at, job_id)
    values (
        mark_parked.limit_key, mark_parked.priority,
        greatest(clock_timestamp(), before + interval '1 microsecond'), mark_parked.run_at, mark_parked.job_id);
end
$$;
comment on function errand.mark_parked(text, smallint, timestamptz, bigint) is
    'The next release of a limit''s parked jobs reads behind this one';
