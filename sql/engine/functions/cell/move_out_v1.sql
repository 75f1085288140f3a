-- move_out_v1: the first step of a move: takes a batch of a queue's waiting jobs out of this cell, and keeps them in
-- errand.outgoing until errand_internal.move_done_v1. Returns how many it took; 0 means that none is left.
--
-- Jobs with a unique key, a limit, a rate or an order key stay, since the key says in which cell they are. So do jobs
-- that wait for a signal or have got one: it is in this cell, and its id may be another one's there. So do jobs that
-- wait for others or have done so, those that others wait for, those of batches, those with steps, running jobs, and
-- those that
-- another session has locked. Most urgent and oldest ones first, those behind `after` (priority and position) only.
-- Raises ER409 if the batch exists.
create or replace function errand_internal.move_out_v1(
    move uuid, batch int, queue text, to_cell int, max_jobs int default 10000,
    after_priority int default 0, after_position bigint default 0,
    out jobs int, out last_priority int, out last_position bigint
)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off
as $$
#variable_conflict use_column
declare
    taken bigint[];
    part bigint[];
    level int;
    awaited constant bigint[] := errand_internal.awaited_parents();
begin
    if to_cell = errand.cell() then
        raise exception 'move_out: to_cell: expected another cell than %, got itself', to_cell using errcode = 'ER422';
    end if;
    jobs := 0;
    last_priority := after_priority;
    last_position := after_position;
    for level in 1..4 loop
        continue when level < after_priority;
        select array_agg(id), max(queue_position) into part, last_position
        from (
            select id, queue_position
            from errand.job
            where job.queue = move_out_v1.queue and priority = level
                and queue_position > case when level = after_priority then after_position else 0 end
                and state = 'available' and unique_key is null and waiting_key is null and limit_key is null
                and rate_key is null
                and (options ?| '{signal,after,order_key,batch}') is not true
                and not exists (select from unnest(awaited) as parent where parent = job.id)
                -- No join: the planner might read all of errand.step for it.
                and (select true from errand.step where job_id = job.id limit 1) is null
            order by queue_position
            limit max_jobs - jobs
            for update skip locked
        ) as next;
        last_priority := level;
        jobs := jobs + coalesce(cardinality(part), 0);
        taken := taken || part;
        exit when jobs >= max_jobs;
    end loop;
    if jobs < max_jobs then
        last_position := 0;
        last_priority := 5;
        part := array(
            select id
            from errand.job
            where job.queue = move_out_v1.queue and queue_position is null and state in ('scheduled', 'parked')
                and unique_key is null and waiting_key is null and limit_key is null and rate_key is null
                and (options ?| '{signal,after,order_key,batch}') is not true
                and starts_with(parked_for, 'signal:') is not true
                and not exists (select from unnest(awaited) as parent where parent = job.id)
                and (select true from errand.step where job_id = job.id limit 1) is null
            limit max_jobs - jobs
            for update skip locked);
        jobs := jobs + cardinality(part);
        taken := taken || part;
    end if;
    if jobs = 0 then
        return;
    end if;
    with gone as (
        delete from errand.job
        where id = any (taken)
        returning job.*
    )
    insert into errand.outgoing (move, batch, to_cell, jobs)
    select
        move_out_v1.move, move_out_v1.batch, move_out_v1.to_cell,
        array_agg(
            row(
                id, created_at, run_at, not_after, attempt, crashes, attempts,
                coalesce(payload, errand_internal.take_payload(payload_day, id)), payload_bytes, state <> 'scheduled',
                :request_columns)::errand.moving_job
            order by priority, queue_position)
    from gone;
end
$$;
