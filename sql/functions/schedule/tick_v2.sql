-- tick_v2: as tick_v1, and answers whether it is this call that has settled the tick: false where somebody else has, also
-- where that was after the caller's statement had begun. The caller holds the schedule by hold_schedule_v1.
create or replace function errand.tick_v2(schedule text, tick timestamptz, outcome text, version bigint default null)
returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    -- Each statement in here sees what was committed before it began; the caller's may have begun long before.
    was_settled constant boolean := exists (
        select from errand.tick as settled where settled.schedule = tick_v2.schedule and settled.tick = tick_v2.tick
    );
begin
    -- Also where it is settled: if by an earlier schedule of this name, this one has still to pass it.
    perform errand.tick_v1(tick_v2.schedule, tick_v2.tick, tick_v2.outcome, tick_v2.version);
    return not was_settled and exists (
        select from errand.tick as settled where settled.schedule = tick_v2.schedule and settled.tick = tick_v2.tick
    );
end
$$;
comment on function errand.tick_v2(text, timestamptz, text, bigint) is
    'For the scheduler: settles one tick exactly once, with its job; answers whether this call did';
