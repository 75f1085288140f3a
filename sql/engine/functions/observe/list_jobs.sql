-- list_jobs: returns a page of jobs that match a filter, in whichever table they are, the newest ids first.
--
--   select errand.list_jobs();
--   select errand.list_jobs('{"state": "failed", "kind": "noop"}', max_jobs => 10);
--   select errand.list_jobs('{"queue": "images"}', before => 4711);
--
-- errand_internal.job_filter has the filter's keys; state is any of errand.jobs. An empty filter matches every job.
-- created_before begins 1,000 ids above that time: a job whose transaction began long before it may be missing. error
-- and fingerprint match nothing for errand_monitor, which reads no errors.
--
-- unique_key, tag, fingerprint and batch are found by their indexes, unless over a million jobs match. Otherwise a
-- call reads at most max_read rows of each table, so it takes milliseconds, however many jobs there are and however few
-- match. The result is an object: jobs, an array of at most max_jobs (1 to 1,000); before, the argument of the next
-- call, null at the end; and read_back_to, the creation time down to which all jobs were read, null if it read all.
-- errand: for ops, monitor
-- errand: topic find
create or replace function errand.list_jobs(
    filter jsonb default '{}', before bigint default null, max_jobs int default 50, max_read int default 5000
) returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, errand, pg_temp
-- A plan for any filter would read by id, whatever the filter has.
set jit = off set plan_cache_mode = force_custom_plan
as $$
declare
    choice errand.job_choice;
    sees constant boolean := errand_internal.sees_content();
    upper bigint := list_jobs.before;
    matches bigint[];
    rows_read int;
    page jsonb;
    is_full boolean;
    next bigint;
    read_to timestamptz;
begin
    if filter is distinct from '{}' then
        choice := errand_internal.job_filter(
            'list_jobs', filter, '{scheduled,available,parked,running,failed,succeeded,cancelled,obsolete}');
    end if;
    if max_jobs is null or max_jobs not between 1 and 1000 then
        raise exception 'list_jobs: max_jobs: expected 1 to 1000, got %', coalesce(max_jobs::text, 'null')
            using errcode = 'ER422';
    elsif max_read is null or max_read not between 1 and 1000000 then
        raise exception 'list_jobs: max_read: expected 1 to 1000000, got %', coalesce(max_read::text, 'null')
            using errcode = 'ER422';
    end if;
    if choice.created_before is not null then
        upper := least(upper, errand_internal.first_id_after(choice.created_before, upper) + 1000);
    end if;
    if choice.fingerprint is null or sees then
        matches := errand_internal.find_by_index(choice, upper, max_read);
    end if;
    -- Most filters match soon.
    foreach rows_read in array array[
        least(max_read, max_jobs + 1), least(max_read, 20 * max_jobs), max_read]
    loop
        with live as materialized (
            select
                id, queue, kind, state, priority, attempt, max_attempts, created_at, run_at, started_at,
                null::timestamptz as finished_at, unique_key, limit_key, tags,
                case when sees then attempts -> -1 ->> 'error' end as error, null::text as fingerprint, parked_for,
                options ->> 'batch' as batch
            from errand.job
            where (upper is null or id < upper)
                and (matches is null or id = any (array(select unnest(matches[1:rows_read]))))
                and (choice.state is null or choice.state in ('scheduled', 'available', 'parked'))
            order by id desc
            limit rows_read
        ),
        running as materialized (
            -- Running jobs are the oldest, and there may be a million newer ones.
            select
                id, queue, kind, state, priority, attempt, max_attempts, created_at, run_at, started_at,
                null::timestamptz, unique_key, limit_key, tags,
                case when sees then attempts -> -1 ->> 'error' end, null::text, parked_for, options ->> 'batch'
            from errand.job
            where choice.state = 'running' and (upper is null or id < upper)
                and id = any (array(select unnest(job_ids) from errand.claim))
            order by id desc
            limit rows_read
        ),
        failed as materialized (
            select
                id, queue, kind, 'failed', priority, attempt, max_attempts, created_at, run_at, started_at,
                finished_at, unique_key, limit_key, tags, case when sees then error end,
                case when sees then fingerprint end, null::text, options ->> 'batch'
            from errand.failed
            where (upper is null or id < upper)
                and (matches is null or id = any (array(select unnest(matches[1:rows_read]))))
                and (choice.state is null or choice.state = 'failed')
            order by id desc
            limit rows_read
        ),
        ended as materialized (
            select
                id, queue, kind, state, priority, attempt, max_attempts, created_at, run_at, started_at,
                finished_at, unique_key, limit_key, tags, reason, null::text, null::text, options ->> 'batch'
            from errand.history
            where (upper is null or id < upper)
                and (matches is null or id = any (array(select unnest(matches[1:rows_read]))))
                and (choice.state is null or choice.state in ('succeeded', 'cancelled', 'obsolete'))
            order by id desc
            limit rows_read
        ),
        found as materialized (
            select * from live
            union all select * from running
            union all select * from failed
            union all select * from ended
        ),
        -- Below the last row of a table that has more, that table's rows are missing.
        reached as (
            select max(id) as id
            from (
                (select id from live order by id desc offset rows_read - 1)
                union all
                (select id from running order by id desc offset rows_read - 1)
                union all
                (select id from failed order by id desc offset rows_read - 1)
                union all
                (select id from ended order by id desc offset rows_read - 1)
                union all
                (select matches[rows_read])
            ) as last_row
        ),
        matching as (
            select found.*
            from found
            cross join reached
            where (reached.id is null or found.id >= reached.id)
                and (choice.state is null or found.state = choice.state)
                and (choice.queue is null or found.queue = choice.queue)
                and (choice.kind is null or found.kind = choice.kind)
                and (choice.tag is null or choice.tag = any (found.tags))
                and (choice.unique_key is null or found.unique_key = choice.unique_key)
                and (choice.limit_key is null or found.limit_key = choice.limit_key)
                and (choice.error is null or strpos(found.error, choice.error) > 0)
                and (choice.fingerprint is null or found.fingerprint = choice.fingerprint)
                and (choice.created_after is null or found.created_at >= choice.created_after)
                and (choice.created_before is null or found.created_at < choice.created_before)
                and (choice.ended_after is null or found.finished_at >= choice.ended_after)
                and (choice.ended_before is null or found.finished_at < choice.ended_before)
                and (choice.batch is null or found.batch = choice.batch::text)
            order by found.id desc
            limit max_jobs + 1
        ),
        numbered as (
            select matching.*, row_number() over (order by id desc) as nth from matching
        )
        select
            coalesce(
                jsonb_agg(
                    to_jsonb(numbered) - '{nth,fingerprint,parked_for,batch}'::text[]
                        || jsonb_build_object(
                            'error', left(numbered.error, 300),
                            'waiting_for', errand_internal.waiting_for(numbered.parked_for))
                    order by id desc) filter (where nth <= max_jobs),
                '[]'),
            count(*) > max_jobs,
            case when count(*) > max_jobs then min(id) filter (where nth <= max_jobs)
                else (select reached.id from reached) end,
            -- A single row may be of a transaction that began long before.
            (
                select max(created_at)
                from (
                    select found.created_at
                    from found
                    join reached on found.id >= reached.id
                    order by found.id
                    limit 100) as lowest
            )
        into page, is_full, next, read_to
        from numbered;
        if not is_full and next is not null and read_to < choice.created_after - interval '1 hour' then
            -- No older job of this cell can have been created after that time. Those from another one can.
            next := case when errand_internal.newest_id(next >> 43 << 43) is not null then next >> 43 << 43 end;
        end if;
        exit when jsonb_array_length(page) = max_jobs or next is null;
    end loop;
    return jsonb_build_object('jobs', page, 'before', next, 'read_back_to', read_to);
end
$$;
