-- set_bounds: sets how many wrong codes are accepted within an hour, from one source and from all users together. After
-- that many from all together, each user has one an hour.
--
--   select pairing.set_bounds(from_source => 100, in_all => 50000, reason => 'we have grown');
--
-- The defaults are 100 and 10,000. Null keeps the old value. Raises ER422 for less than 1, for more than 1,000,000,000,
-- or without a reason.
-- errand: for ops
create or replace function pairing.set_bounds(
    from_source int default null, in_all int default null, reason text default null
) returns void
language plpgsql security definer set search_path = pg_catalog, pairing, pg_temp as $$
begin
    perform errand_internal.check_reason('set_bounds', set_bounds.reason);
    if least(set_bounds.from_source, set_bounds.in_all) < 1
        or greatest(set_bounds.from_source, set_bounds.in_all) > 1000000000
    then
        raise exception 'set_bounds: expected 1 to 1000000000, got % and %', set_bounds.from_source, set_bounds.in_all
            using errcode = 'ER422';
    end if;
    update pairing.setting as existing
    set wrong_from_source = coalesce(set_bounds.from_source, existing.wrong_from_source),
        wrong_in_all = coalesce(set_bounds.in_all, existing.wrong_in_all);
    perform errand_internal.record_action(
        'pairing.set_bounds',
        jsonb_build_object('from_source', set_bounds.from_source, 'in_all', set_bounds.in_all), set_bounds.reason);
end
$$;
