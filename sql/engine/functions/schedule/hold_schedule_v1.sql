-- hold_schedule_v1: holds a schedule for the rest of the transaction, so that its ticks are settled by one scheduler.
--
-- False, at once, where somebody else holds it or it has another version: nobody waits, so that a transaction which
-- somebody left open over one schedule holds up no other.
create or replace function errand.hold_schedule_v1(schedule text, version bigint) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    perform
    from errand.schedule as known
    where known.name = hold_schedule_v1.schedule and known.version = hold_schedule_v1.version
    for no key update skip locked;
    return found;
end
$$;
comment on function errand.hold_schedule_v1(text, bigint) is
    'For the scheduler: holds a schedule for the transaction; false, at once, where somebody else does';
