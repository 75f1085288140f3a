-- queue_names: returns the names of all queues of jobs, kinds and pauses, with one probe of the index each, however
-- many jobs there are. Beyond 1,000 queues the names are those of the last statistics.
--
-- The views start from here. This is a function and not a view, so that the planner expects few queues. Otherwise it
-- would expect thousands, and start the JIT compiler (100 ms) for a handful.
--
-- errand.metrics calls it once before it reads errand.queue_status. The names that it wants from there are then in
-- errand.queues_to_show.
create or replace function errand.queue_names() returns setof text
language plpgsql stable security definer rows 8
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
declare
    latest text := '';
    names text[] := '{}';
    to_show text := nullif(current_setting('errand.queues_to_show', true), '');
begin
    if to_show is not null then
        return query select unnest(to_show::text[]);
        return;
    end if;
    loop
        select job.queue into latest
        from errand.job
        where job.queue_position is not null and job.queue > latest
        order by job.queue
        limit 1;
        exit when not found or cardinality(names) >= 1000;
        names := names || latest;
    end loop;
    return query
    select unnest(names)
    union
    select name from errand.queue
    union
    select queue from errand.kind
    union
    select queue from errand.job_count
    union
    select name from errand.throughput where subject = 'queue'
    union
    select queue from (select queue from errand.job where queue_position is null and parked_for is null order by run_at
        limit 1000) as later;
end
$$;
comment on function errand.queue_names() is 'For the views: returns the names of all queues of jobs, kinds and pauses';
