-- admit_rated: for errand_internal.admit: decides which jobs of a claim may start under the rates of their keys, with
-- one statement for all keys. At most room jobs start (null = none), the first ones.
--
-- results has an element for each candidate, null if it has an outcome already, or no rate:
--   starts    it has its reserved time, or its key has room; the start is counted
--   stays     it could start, but room is spent. So do the jobs of its key that come behind it
--   reserved  its key has no room: it is scheduled for the next time that nobody has
--
-- GCRA: each start moves the clock of its key on by the spacing, and the clock may be ahead of the time by that of a
-- burst, less one. A reserved time is late after nine tenths of the grace: the rest is for the claim itself. A job
-- that comes later reserves another one.
--
-- The caller holds the lock of errand_internal.lock_limits, and has locked the jobs.
create or replace function errand_internal.admit_rated(
    candidates tid[], outcomes text[], rate_keys text[], room int, out results text[]
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    present constant timestamptz := clock_timestamp();
    present_s constant double precision := extract(epoch from present);
begin
    -- Without joins of its steps: the planner, which expects a few jobs, would compare each of 20,000 with each other.
    with asked as materialized (
        select near.nth, near.row_id, near.key, job.id, job.run_at,
            row_number() over (partition by near.key order by near.nth) = 1 as is_first_of_key
        from (
            select row_id, case when outcome is null then key end as key, nth
            from unnest(candidates, outcomes, rate_keys) with ordinality as given(row_id, outcome, key, nth)
        ) as near
        left join errand.job on near.key is not null and job.ctid = near.row_id
    ),
    -- The first job of each key reads what there is of the key.
    read as materialized (
        select asked.*, rate.spacing, rate.burst, rate.grace, clock.row_id as clock_row,
            -- Not beyond what the reserved jobs need, as after the server's clock was set back.
            case
                when clock.tat > present_s then least(
                    clock.tat,
                    greatest(present_s, extract(epoch from last.start_at)::double precision)
                        + rate.burst * rate.spacing)
                else present_s
            end as base
        from asked
        -- As errand_internal.rate_of, without a call for each key.
        left join lateral (
            select *
            from (
                (select exact.*
                from errand.key_rate as exact
                where asked.is_first_of_key and exact.rate_key = asked.key)
                union all
                (select fits.*
                from errand.key_rate as fits
                where asked.is_first_of_key and fits.rate_key like '%*'
                    and starts_with(asked.key, left(fits.rate_key, -1))
                order by length(fits.rate_key) desc
                limit 1)) as either
            limit 1
        ) as rate on true
        left join lateral (
            select newest.ctid as row_id, newest.tat
            from errand.rate_clock as newest
            where rate.spacing is not null and newest.rate_key = asked.key
            order by newest.tat desc
            limit 1
        ) as clock on true
        left join lateral (
            select reserved.start_at
            from errand.rate_reservation as reserved
            where clock.tat > present_s and reserved.rate_key = asked.key
                and reserved.start_at <= to_timestamp(clock.tat)
            order by reserved.start_at desc
            limit 1
        ) as last on true
    ),
    known as materialized (
        select nth, row_id, key, id, run_at,
            first_value(spacing) over of_key as spacing, first_value(burst) over of_key as burst,
            first_value(grace) over of_key as grace, first_value(base) over of_key as base,
            first_value(clock_row) over of_key as clock_row
        from read
        window of_key as (partition by key order by nth)
    ),
    met as materialized (
        select known.*, own.row_id as own_row,
            coalesce(
                own.start_at between present - known.grace * 0.9 * interval '1 second' and present, false) as is_due
        from known
        left join lateral (
            select reserved.ctid as row_id, reserved.start_at
            from errand.rate_reservation as reserved
            where reserved.rate_key = known.key and reserved.start_at = known.run_at and reserved.job_id = known.id
            limit 1
        ) as own on true
        where known.spacing is not null
    ),
    placed as (
        select *,
            base + (row_number() over (partition by key, is_due order by nth) - burst) * spacing as start_s
        from met
    ),
    ranked as (
        select *, is_due or start_s <= present_s as may_start,
            row_number() over (partition by is_due or start_s <= present_s order by nth) <= room as is_first
        from placed
    ),
    decided as materialized (
        select *,
            case
                when may_start and is_first then 'starts'
                when may_start
                    or bool_or(may_start and not is_due and is_first is not true) over (partition by key) then 'stays'
                else 'reserved'
            end as result
        from ranked
    ),
    moved_on as (
        delete from errand.rate_clock
        where ctid = any (array(
            select ctid
            from errand.rate_clock
            where ctid = any (array(
                select distinct clock_row
                from decided
                where not is_due and result <> 'stays' and clock_row is not null))
            -- errand_internal.prune may have locked it.
            for update skip locked))
    ),
    clocks as (
        insert into errand.rate_clock (rate_key, tat)
        select key, base + count(*) * spacing
        from decided
        where not is_due and result <> 'stays'
        group by key, base, spacing
    ),
    used_up as (
        delete from errand.rate_reservation
        where ctid = any (array(
            select ctid
            from errand.rate_reservation
            where ctid = any (array(select own_row from decided where own_row is not null and result <> 'stays'))
            for update skip locked))
    ),
    reservations as (
        insert into errand.rate_reservation (rate_key, start_at, job_id)
        select key, to_timestamp(start_s), id from decided where result = 'reserved'
    ),
    put_off as (
        update errand.job
        set state = 'scheduled', queue_position = null, worker_id = null, is_handed_back = null,
            run_at = to_timestamp(decided.start_s), rate_key = coalesce(job.rate_key, decided.key)
        from decided
        where job.ctid = decided.row_id and decided.result = 'reserved'
    )
    select array_agg(result order by nth)
    into results
    from (
        select nth, result from decided
        union all
        select nth, null from known where spacing is null) as one;
end
$$;
