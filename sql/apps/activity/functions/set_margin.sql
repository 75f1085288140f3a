-- set_margin: sets how long before the 8 hours an activity's end is due, for activities that start from now on.
--
--   select activity.set_margin('2 minutes', 'Apple answers slowly today');
--
-- The default is 60 s. A longer margin leaves more time for retries; a phone shows the activity for less time. Raises
-- ER422 for less than a second, more than an hour, or without a reason.
-- errand: for ops
create or replace function activity.set_margin(margin interval, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
begin
    perform errand_internal.check_reason('set_margin', reason);
    if margin is null or margin not between interval '1 second' and interval '1 hour' then
        raise exception 'set_margin: margin: expected 1 second to 1 hour, got %', coalesce(margin::text, 'null')
            using errcode = 'ER422';
    end if;
    update activity.setting as existing set margin = set_margin.margin;
    perform errand_internal.record_action('activity.set_margin', jsonb_build_object('margin', margin), reason);
end
$$;
