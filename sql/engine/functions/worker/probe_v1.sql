-- probe_v1: returns which of these queues have a due job that a claim would find. A worker whose queues are all idle
-- asks once for all of them, at its poll interval.
--
-- marks has four positions for each queue, one for each priority. With arm = true the wake-up flag is raised first: an
-- enqueue from now on sends a NOTIFY, and the probe sees all earlier ones, so no job falls in between. If the flag is
-- up already, nothing is written. A paused queue has no due job.
--
-- Returns the queues as busy. A queue whose rate has no room is not among them: room_in_us is the time in microseconds
-- until the first of those has room, null if there is none.
--
-- maintain_within: it also looks for maintenance tasks that don't take long and are due within this time
-- (errand_internal.next_task): 1 s if nobody else looks before the next probe, null for none. maintain_in has the
-- microseconds until the first one is due.
create or replace function errand_internal.probe_v1(
    queues text[], kinds text[], marks bigint[], arm boolean, maintain_within interval default null, out busy text[],
    out room_in_us bigint, out maintain_in bigint
)
-- Volatile, so that the probe has a snapshot of its own, after the flag.
language plpgsql volatile security definer
set search_path = pg_catalog, errand, pg_temp
-- Claims wait for this connection.
set lock_timeout = '500ms'
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
begin
    if arm then
        perform errand_internal.set_wake_flag_v1(true);
    end if;
    busy := array(
        select asked.queue
        from unnest(queues) with ordinality as asked (queue, index)
        where (
                exists (
                    select
                    from errand.job as handed_back
                    where handed_back.is_handed_back and handed_back.queue = asked.queue
                        and handed_back.state = 'available' and handed_back.kind = any (kinds))
                or exists (
                    select
                    from generate_series(1, 4) as level
                    cross join lateral (
                        select
                        from errand.job as waiting
                        where waiting.queue = asked.queue and waiting.priority = level
                            and waiting.queue_position > marks[(asked.index - 1) * 4 + level]
                            and waiting.state = 'available' and waiting.kind = any (kinds)
                        limit 1) as one))
            and not exists (select from errand.queue where name = asked.queue and paused_at is not null));
    if exists (select from errand.rate where rate.queue = any (busy)) then
        select coalesce(array_agg(due.queue) filter (where due.wait is null), '{}'), min(due.wait)
        into busy, room_in_us
        from (select queue, errand_internal.rate_wait(queue) as wait from unnest(busy) as queue) as due;
    end if;
    if maintain_within is not null then
        select extract(epoch from wait) * 1000000 into maintain_in
        from errand_internal.next_task(false, maintain_within);
    end if;
end
$$;
