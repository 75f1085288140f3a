-- standing_limits: for errand.overdue: returns limits that have room for a parked job and have released none for 10 s,
-- with the time of the last release or, if none is known, of the job.
--
-- A job whose queue is paused is not judged, and neither is one whose queue gives a released job no worker: that queue
-- is late itself. Reads the first 200 limits with parked jobs, by name.
-- errand: after bound_of, parked_ahead, slow_queues, taken_slots
-- errand: for ops, monitor
create or replace function errand_internal.standing_limits() returns table (limit_key text, since timestamptz)
language plpgsql stable security definer set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    waits_for text := 'limit:';
    most int;
    slow jsonb;
begin
    for nth in 1..200 loop
        select parked_for into waits_for
        from errand.job
        where parked_for > waits_for
        order by parked_for
        limit 1;
        exit when not found or not starts_with(waits_for, 'limit:');
        limit_key := substr(waits_for, length('limit:') + 1);
        most := (errand_internal.bound_of(limit_key)).max_running;
        continue when most <= (select count(*) from errand_internal.taken_slots(limit_key));
        select max(moved_at) into since
        from (
            select marked_at as moved_at from errand.limit_mark as mark where mark.limit_key = standing_limits.limit_key
            union all
            select
                greatest(
                    slot.admitted_at,
                    (select max(finished_at) from errand.history where history.id = slot.job_id),
                    (select finished_at from errand.failed where failed.id = slot.job_id),
                    (
                        select (job.attempts -> -1 ->> 'ended_at')::timestamptz
                        from errand.job
                        where job.id = slot.job_id
                    ))
            from errand.limit_slot as slot
            where slot.limit_key = standing_limits.limit_key
        ) as existing
        where moved_at <= clock_timestamp();
        continue when since > now() - interval '10 seconds';
        slow := errand_internal.slow_queues(limit_key);
        select coalesce(since, min(waiting.run_at)) into since
        from unnest('{1,2,3,4}'::smallint[]) as level
        cross join lateral (
            select job.queue, job.kind, job.run_at
            from errand.job
            where job.ctid = any (errand_internal.parked_ahead(standing_limits.limit_key, level))
        ) as waiting
        where (
                level < least(
                    (slow ->> waiting.queue)::int, (slow ->> (waiting.queue || '/' || waiting.kind))::int)
            ) is not false
            and not exists (select from errand.queue where name = waiting.queue and paused_at is not null)
        having count(*) > 0;
        if found and since < now() - interval '10 seconds' then
            return next;
        end if;
    end loop;
end
$$;
