-- set_pool_target: sets how many free numbers the job number_pool draws ahead.
--
--   select identity.set_pool_target(500000, 'the campaign begins on Friday');
--
-- The default is 100,000. Raises ER422 for less than 1, for more than 1,000,000, or without a reason.
-- errand: for ops
create or replace function identity.set_pool_target(numbers int, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, identity, pg_temp as $$
begin
    perform errand_internal.check_reason('set_pool_target', set_pool_target.reason);
    if coalesce(set_pool_target.numbers, 0) not between 1 and 1000000 then
        raise exception 'set_pool_target: numbers: expected 1 to 1000000, got %',
            coalesce(set_pool_target.numbers::text, 'null') using errcode = 'ER422';
    end if;
    update identity.setting set pool_target = set_pool_target.numbers;
    perform errand_internal.record_action(
        'identity.set_pool_target', jsonb_build_object('numbers', set_pool_target.numbers), set_pool_target.reason);
end
$$;
