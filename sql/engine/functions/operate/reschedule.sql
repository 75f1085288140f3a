-- reschedule: gives waiting jobs another time, another priority, or both. Null keeps the old value.
--
--   select * from errand.reschedule('{4711}', run_at => now() + interval '2 hours', reason => 'after the maintenance');
--   select * from errand.reschedule('{4712}', priority => 1);
--
-- A job that moves to another priority gets the last position there. Running and ended jobs stay as they are. Returns a
-- row for each id with its state before and now, nulls for an unknown id. Raises ER422.
-- errand: for ops
-- errand: topic move
create or replace function errand.reschedule(
    ids bigint[], run_at timestamptz default null, priority int default null, reason text default null
) returns table (job_id bigint, was text, now text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    held errand.job;
    locked bigint[];
    moved bigint[] := '{}';
begin
    if reschedule.run_at is null and reschedule.priority is null then
        raise exception 'reschedule: expected run_at, priority or both, got null' using errcode = 'ER422';
    elsif reschedule.priority not between 1 and 4 then
        raise exception 'reschedule: priority: expected 1 (first) to 4 (last), got %', reschedule.priority
            using errcode = 'ER422';
    end if;
    perform errand.check_time(reschedule.run_at, 'reschedule');
    -- The transaction id comes before the position: see errand.requeue.
    perform pg_current_xact_id();
    -- In the order in which all sessions lock keys and jobs. One retried meanwhile would be locked out of order.
    locked := array(select id from errand.job where id = any (ids) order by unique_key, id for update);
    for job_id in select distinct id from unnest(ids) as id where id is not null order by id loop
        select * into held from errand.job where id = job_id and id = any (locked);
        was := case when found then held.state else errand.state_of(job_id) end;
        now := was;
        if held.id is not null and was in ('scheduled', 'available', 'parked') then
            now := case
                when coalesce(reschedule.run_at, held.run_at) > now() then 'scheduled'
                when was = 'scheduled' then 'available'
                else was
            end;
            update errand.job
            set
                state = reschedule.now,
                run_at = coalesce(reschedule.run_at, held.run_at),
                priority = coalesce(reschedule.priority, held.priority),
                parked_for = case when reschedule.now = 'parked' then held.parked_for end,
                -- errand.requeue draws a new one if the job moves.
                queue_position = case when reschedule.now = 'available' then held.queue_position end
            where id = job_id;
            moved := moved || job_id;
        end if;
        return next;
    end loop;
    if moved <> '{}' then
        perform errand.record_action(
            'reschedule',
            jsonb_strip_nulls(jsonb_build_object(
                'ids', moved[1:100], 'run_at', reschedule.run_at, 'priority', reschedule.priority)),
            reschedule.reason, moved);
        perform errand.wake();
    end if;
end
$$;
