-- taken_slots: returns the slots of a limit whose jobs run, or were released within the last second.
create or replace function errand_internal.taken_slots(limit_key text) returns table (slot int, is_running boolean)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
begin
    return query
    select existing.slot, existing.state = 'running'
    from errand_internal.slot_holders(taken_slots.limit_key) as existing
    where existing.state <> 'waiting';
end
$$;
