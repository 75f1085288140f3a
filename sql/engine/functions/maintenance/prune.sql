-- prune: deletes old records, up to 10,000 of each sort in a call. Returns the largest number of one sort: 10,000 means
-- that there may be more. Of steps, those that it has read count.
--
-- The times are fixed: a stolen worker login may have it called, and must not shorten what is kept.
--
-- Ended jobs with the usual retention (7 days) go with their day's partition and cost nothing here. Jobs of kinds with
-- a shorter retention (errand_internal.retentions) are searched in the whole history, and their payloads in
-- errand.payload go with them. Failed jobs stay for 30 days, or for their kind's retention. One that did not succeed
-- stays while others wait for it. Failures of jobs that were retried or discarded stay for 7 days (the newest 5,000),
-- actions of operators, bulk actions and where jobs were moved for a year; what was before an action stays for 7 days.
-- Totals of completed attempts stay for a year, or for 90 days if the queue is not their kind's. Circuits that are up
-- and unused stay for 30 days after their last failure, totals of enqueues that inserted nothing for 90 days. Signals
-- stay for 7 days, batches for 30 after their end. The marks of workers that have left stay for 7 days (the newest
-- 100). Unique keys of errand.unique_period go once their time is over.
--
-- What another session has locked stays until the next call.
create or replace function errand_internal.prune() returns int
language plpgsql
set search_path = pg_catalog, errand, pg_temp set timezone = 'UTC'
as $$
declare
    keep_history constant int := 7;
    keep_failed constant int := 30;
    began timestamptz := clock_timestamp();
    removed int;
    total int := 0;
    most int := 0;
    seen int;
    brief record;
    -- They can be retried: until then those wait that wait for them.
    awaited constant bigint[] := errand_internal.awaited_parents();
begin
    for brief in
        select kind, keep, array_agg(state) as states
        from errand_internal.retentions()
        where state <> 'failed' and keep < keep_history * interval '1 day'
        group by kind, keep
    loop
        with gone as (
            delete from errand.history as ended
            where (ended.tableoid, ended.ctid) in (
                select old.tableoid, old.ctid
                from errand.history as old
                where old.kind = brief.kind and old.state = any (brief.states)
                    and old.finished_at < now() - brief.keep
                    and (old.state = 'succeeded'
                        or not exists (select from unnest(awaited) as parent where parent = old.id))
                limit 10000
                for update skip locked)
            returning payload_day, id
        ),
        freed as materialized (
            select case when payload_day is not null then errand_internal.take_payload(payload_day, id) end from gone
        )
        select count(*) into removed from freed;
        total := total + removed;
        most := greatest(most, removed);
    end loop;
    with gone as (
        delete from errand.history_default
        where ctid = any (array(
            select ended.ctid
            from errand.history_default as ended
            left join errand_internal.retentions() as existing on existing.kind = ended.kind
                and existing.state = ended.state
            where ended.finished_at < now()::date - keep_history
                and ended.finished_at <= now() - coalesce(existing.keep, interval '0')
                and (ended.state = 'succeeded'
                    or not exists (select from unnest(awaited) as parent where parent = ended.id))
            limit 10000
            for update of ended skip locked))
        returning payload_day, id
    ),
    freed as materialized (
        select case when payload_day is not null then errand_internal.take_payload(payload_day, id) end from gone
    )
    select count(*) into removed from freed;
    total := total + removed;
    most := greatest(most, removed);
    -- Payloads that were stored while their day had no partition.
    delete from errand.payload_default
    where ctid = any (array(
        select old.ctid
        from errand.payload_default as old
        where old.day < now()::date - keep_history
            and (select payload_day from errand.job where id = old.job_id) is distinct from old.day
            and not exists (select from errand.history where id = old.job_id and payload_day = old.day)
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.failed
    where id = any (array(
        select failed.id
        from errand.failed
        left join errand_internal.retentions() as existing on existing.kind = failed.kind and existing.state = 'failed'
        where failed.finished_at < now() - coalesce(existing.keep, keep_failed * interval '1 day')
            and not exists (select from unnest(awaited) as parent where parent = failed.id)
            -- One that blocks its order key.
            and not exists (
                select
                from errand.order_slot as slot
                where slot.order_key = failed.options ->> 'order_key' and slot.job_id = failed.id)
        order by failed.finished_at
        limit 10000
        for update of failed skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.past_failure
    where ctid = any (array(
        select past.ctid
        from errand.past_failure as past
        left join errand_internal.retentions() as existing on existing.kind = past.kind and existing.state = 'failed'
        where past.finished_at < now() - least(keep_history * interval '1 day', existing.keep)
            or past.finished_at < (
                select finished_at from errand.past_failure order by finished_at desc offset 4999 limit 1)
        limit 10000));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.finished_per_minute
    where ctid = any (array(
        select ctid from errand.finished_per_minute where minute < now() - keep_history * interval '1 day' limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.progress
    where job_id = any (array(
        select old.job_id
        from errand.progress as old
        where old.updated_at < now() - keep_failed * interval '1 day'
            and not exists (select from errand.job where id = old.job_id)
            -- Failed jobs of some kinds stay for longer.
            and not exists (select from errand.failed where id = old.job_id)
        order by old.updated_at
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    select steps.seen, steps.removed into seen, removed from errand_internal.prune_steps() as steps;
    total := total + removed;
    most := greatest(most, seen);
    removed := errand_internal.prune_batches();
    total := total + removed;
    most := greatest(most, removed);
    removed := errand_internal.prune_slots();
    total := total + removed;
    most := greatest(most, removed);
    -- Clocks of keys that have started nothing for a while: such a key may start a burst anyway.
    delete from errand.rate_clock
    where ctid = any (array(
        select ctid
        from errand.rate_clock
        where tat < extract(epoch from now() - interval '1 minute')
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    -- Reserved times that passed without a start.
    delete from errand.rate_reservation
    where ctid = any (array(
        select reserved.ctid
        from errand.rate_reservation as reserved
        where start_at < now() - interval '1 minute' and not errand_internal.is_reserved_for(reserved)
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    -- Marks of limits without a recent release.
    delete from errand.limit_mark
    where ctid = any (array(
        select ctid
        from errand.limit_mark
        where marked_at < now() - interval '1 hour'
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.action
    where id = any (array(
        select id from errand.action where done_at < now() - interval '1 year' order by done_at limit 10000));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.action_change
    where ctid = any (array(
        select ctid
        from errand.action_change
        where action_id <= (
            select id from errand.action where done_at < now() - keep_history * interval '1 day'
            order by done_at desc, id desc limit 1)
        order by action_id
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.bulk where ended_at < now() - interval '1 year';
    get diagnostics removed = row_count;
    total := total + removed;
    delete from errand.moved_job
    where job_id = any (array(
        select job_id from errand.moved_job where moved_on < current_date - 365 order by moved_on limit 10000));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.incoming where done_at < now() - interval '1 year';
    delete from errand.finished_total
    where ctid = any (array(
        select old.ctid
        from errand.finished_total as old
        where old.last_minute < now() - case
                when exists (select from errand.kind where kind.name = old.kind and kind.queue = old.queue)
                then interval '1 year' else interval '90 days'
            end
            -- Counters of a queue that still completes attempts never decrease.
            and not exists (
                select from errand.finished_total as newer
                where newer.queue = old.queue and newer.last_minute > now() - interval '90 days')
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.signal
    where id = any (array(
        select old.id from errand.signal as old
        where old.signalled_at < now() - keep_history * interval '1 day'
        order by old.id
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.unique_period
    where ctid = any (array(
        select ctid from errand.unique_period where until < now() order by until limit 10000 for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.refused_total
    where ctid = any (array(
        select ctid from errand.refused_total where last_at < now() - interval '90 days' limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.circuit
    where name = any (array(
        select unused.name
        from errand.circuit as unused
        where unused.opened_at is null
            and greatest(unused.failed_at, unused.closed_at, unused.released_at) < now() - interval '30 days'
            and not exists (select from errand.kind where unused.name = any (kind.circuits))
            and not exists (select from errand.job where parked_for = 'circuit:' || unused.name)
            -- What operators have set stays.
            and (unused.threshold, unused.threshold_window, unused.probe_every)
                = (3, interval '10 seconds', interval '1 second')
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    delete from errand.mark
    where ctid = any (array(
        select old.ctid
        from errand.mark as old
        where old.server_start <> errand_internal.server_start()
            or old.stored_at < now() - keep_history * interval '1 day'
            or old.stored_at < (select stored_at from errand.mark order by stored_at desc offset 99 limit 1)
        limit 10000
        for update skip locked));
    get diagnostics removed = row_count;
    total := total + removed;
    most := greatest(most, removed);
    removed := errand_internal.prune_ticks();
    total := total + removed;
    most := greatest(most, removed);
    perform errand_internal.record_task('prune', began, format('%s records removed', total));
    return most;
end
$$;
