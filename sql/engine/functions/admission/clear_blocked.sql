-- clear_blocked: removes jobs that may not run from the next positions of a queue, all in one statement each. A job
-- past its not_after becomes obsolete. A job parks if its dependency is down or its limit is full. errand.admit_job
-- does the same one by one, at 10 us a job.
--
-- Calls no guard. Returns the number of jobs that it removed.
create or replace function errand.clear_blocked(
    queue text, kinds text[], priorities smallint[], marks bigint[], checked text[], positions int
) returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    -- Row ids. The rows are locked, so none moves before it is written here.
    late tid[];
    near tid[];
    limited tid[];
    limit_keys text[];
    keys text[];
    full_keys text[];
    cleared int := 0;
    changed int;
begin
    select array_agg(ctid) filter (where is_late), array_agg(ctid) filter (where not is_late)
    into late, near
    from (
        select ctid, (not_after < now()) is true as is_late
        from errand.job
        where ctid = any (array(
            select ahead.ctid
            from (
                select near.*
                from unnest(priorities) as level
                cross join lateral (
                    select waiting.ctid, waiting.kind, waiting.not_after, waiting.limit_key
                    from errand.job as waiting
                    where waiting.queue = clear_blocked.queue and waiting.priority = level
                        and waiting.queue_position > marks[level]
                        and waiting.state = 'available' and waiting.kind = any (kinds)
                    order by waiting.queue_position
                ) as near
                limit positions) as ahead
            where ahead.not_after < now() or ahead.limit_key is not null or ahead.kind = any (checked)))
            and state = 'available'
        for update skip locked) as met;
    perform errand.move_obsolete(late, array(
        select 'not started by ' || job.not_after
        from unnest(late) with ordinality as gone(row_id, nth)
        join errand.job on job.ctid = gone.row_id
        order by nth));
    cleared := coalesce(cardinality(late), 0);
    if checked is not null then
        update errand.job
        set state = 'parked', queue_position = null, worker_id = null, parked_for = 'dependency:' || down.name
        from errand.kind as needed
        join errand.dependency as down
            on down.name in (needed.dependency, 'kind:' || needed.name) and down.opened_at is not null
        where job.ctid = any (near) and needed.name = job.kind
            -- The probe stays in the queue.
            and (down.probe_job_id, down.probe_position) is distinct from (job.id, job.queue_position);
        get diagnostics changed = row_count;
        cleared := cleared + changed;
    end if;
    with met as (
        -- Jobs from before their kind's registration don't name its limit.
        select job.ctid as row_id, coalesce(job.limit_key, kind.limit_key) as limit_key
        from errand.job
        left join errand.kind on kind.name = job.kind and kind.name = any (checked)
        where job.ctid = any (near) and job.queue_position is not null
            and coalesce(job.limit_key, kind.limit_key) is not null
            and errand.limit_of(coalesce(job.limit_key, kind.limit_key)) is not null
            -- A job that was released with a slot keeps it.
            and not exists (
                select from errand.limit_slot as slot
                where slot.limit_key = coalesce(job.limit_key, kind.limit_key) and slot.job_id = job.id
                    and slot.queue_position = job.queue_position)
    )
    select array_agg(met.row_id), array_agg(met.limit_key), array_agg(distinct met.limit_key order by met.limit_key)
    into limited, limit_keys, keys
    from met;
    if limited is not null and errand.lock_limits() then
        full_keys := array(select key from unnest(keys) as key where (errand.release_limit(key)).free = '{}');
        with parked as (
            update errand.job
            set state = 'parked', queue_position = null, worker_id = null, limit_key = met.limit_key,
                parked_for = 'limit:' || met.limit_key
            from unnest(limited, limit_keys) as met(row_id, limit_key)
            where job.ctid = met.row_id and met.limit_key = any (full_keys) and job.queue_position is not null
            returning job.limit_key, job.priority, job.run_at, job.id
        ),
        lowest as (
            select distinct on (limit_key, priority) limit_key, priority, run_at, id
            from parked
            order by limit_key, priority, run_at, id
        ),
        lowered as materialized (
            select errand.lower_mark(limit_key, priority, run_at, id) from lowest
        )
        select (select count(*) from parked) into changed from (select count(*) from lowered) as done;
        cleared := cleared + changed;
    end if;
    return cleared;
end
$$;
