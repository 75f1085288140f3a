-- reschedule: gives waiting jobs another time, priority or queue. Null keeps the old value.
--
--   select * from errand.reschedule('{4711}', run_at => now() + interval '2 hours', reason => 'after the maintenance');
--   select * from errand.reschedule('{4712}', priority => 1);
--
-- A job that moves to another queue or priority gets the last position there. One that waits for other jobs still does,
-- and starts at run_at at the earliest. One with an order key keeps its order. Running and ended jobs stay as they are.
-- Returns a row for each id with its state before and now, nulls for an unknown id. Raises ER422, and ER404 for a queue
-- that no job, kind or worker has named so far, unless force => true.
-- errand: for ops
-- errand: topic move
create or replace function errand.reschedule(
    ids bigint[], reason text default null, run_at timestamptz default null, priority int default null,
    queue text default null, force boolean default false
) returns table (job_id bigint, was text, now text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    locked bigint[];
    moved bigint[] := '{}';
    waits_for text;
    order_key text;
    action_id constant bigint := nextval('errand.action_id_seq');
begin
    if num_nonnulls(reschedule.run_at, reschedule.priority, reschedule.queue) = 0 then
        raise exception 'reschedule: expected run_at, priority or queue, got none' using errcode = 'ER422';
    elsif reschedule.priority not between 1 and 4 then
        raise exception 'reschedule: priority: expected 1 (first) to 4 (last), got %', reschedule.priority
            using errcode = 'ER422';
    elsif reschedule.queue is not null then
        perform errand_internal.check_known_queue('reschedule', reschedule.queue, reschedule.force);
    end if;
    perform errand_internal.check_time(reschedule.run_at, 'reschedule');
    -- In the order in which all sessions lock keys and jobs. One retried meanwhile would be locked out of order.
    locked := array(
        select id from errand.job where id = any (ids) order by coalesce(unique_key, waiting_key), id for update);
    for job_id, was, waits_for, order_key in
        select
            asked.id, coalesce(job.state, errand_internal.state_of(asked.id)), job.parked_for,
            job.options ->> 'order_key'
        from (select distinct id from unnest(ids) as id where id is not null) as asked
        left join errand.job on job.id = asked.id and job.id = any (locked)
        order by asked.id
    loop
        now := was;
        if was in ('scheduled', 'available', 'parked') and job_id = any (locked) then
            now := case
                when starts_with(waits_for, 'job:') then was
                when reschedule.run_at > now() then 'scheduled'
                when reschedule.run_at is not null and was = 'scheduled' then case
                    when order_key is null or errand_internal.may_begin(job_id, order_key) then 'available'
                    else 'parked'
                end
                else was
            end;
            moved := moved || job_id;
        end if;
        return next;
    end loop;
    if moved <> '{}' then
        perform errand_internal.move_jobs(
            moved, array_fill(reschedule.run_at, array[cardinality(moved)]), reschedule.queue, reschedule.priority,
            action_id);
        perform errand_internal.record_action(
            'reschedule',
            jsonb_strip_nulls(jsonb_build_object(
                'ids', moved[1:100], 'run_at', reschedule.run_at, 'priority', reschedule.priority, 'queue',
                reschedule.queue)),
            reschedule.reason, moved, action_id);
        perform errand_internal.wake();
    end if;
end
$$;
