-- explain_position: for errand.explain: the number of jobs ahead in the queue and how long they take, or that the job
-- is the next one.
create or replace function errand_internal.explain_position(job errand.job)
returns table (code text, detail text, hint text)
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
declare
    ahead bigint;
    busy record;
    per_second float8;
begin
    select count(*) into ahead
    from (
        select
        from generate_series(1, job.priority) as level
        cross join lateral (
            select
            from errand.job as other
            where other.queue = job.queue and other.priority = level
                and other.queue_position < case when level = job.priority
                    then job.queue_position else 9223372036854775807 end
                and other.state = 'available'
            limit 10001
        ) as near
        limit 10001) as counted;
    select coalesce(sum(running), 0) as jobs, count(*) as workers into busy
    from errand.worker
    where job.queue = any (queues) and heartbeat_at + lease > now();
    select (succeeded + failed) / 300.0 into per_second
    from errand.throughput
    where subject = 'queue' and name = job.queue and span = interval '5 minutes';
    if ahead > 0 then
        code := 'behind';
        detail := format(
            '%s due jobs are ahead of it in the queue %s, priority %s and better; %s workers run %s jobs%s',
            case when ahead > 10000 then 'more than 10000' else ahead::text end, job.queue, job.priority, busy.workers,
            busy.jobs,
            case
                when per_second > 0 then format(
                    '; at the pace of the last 5 minutes, %s a second, they take %s%s', round(per_second::numeric, 1),
                    case when ahead > 10000 then 'more than ' else '' end,
                    date_trunc('second', least(ahead / per_second, 3e8) * interval '1 second'))
            end);
        hint := case when job.priority > 1
            then format('select * from errand.reschedule_job(%s, priority => 1)', job.id)
            else 'More workers, or a higher concurrency, make the queue shorter.' end;
    else
        code := 'next';
        detail := format(
            'it is the first in the queue; %s workers of the queue %s run %s jobs', busy.workers, job.queue, busy.jobs);
        hint := case
            when job.run_at < now() - interval '10 seconds'
                then 'Its workers are busy with other jobs, or can''t claim: see their logs.'
            else 'A worker claims it as soon as it has room.'
        end;
    end if;
    return next;
end
$$;
