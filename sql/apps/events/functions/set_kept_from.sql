-- set_kept_from: sets from when the days of events count after which they are purged: end, the default, or start. From
-- their start, an event that lasts longer than its days is purged at its end.
--
--   select events.set_kept_from('start', 'our terms say so');
--
-- It holds at once, for events that exist too: see purge_at in events.event_status. Raises ER422 for another word, or
-- without a reason.
-- errand: for ops
create or replace function events.set_kept_from(moment text, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
begin
    perform errand_internal.check_reason('set_kept_from', reason);
    if moment is null or moment not in ('end', 'start') then
        raise exception 'set_kept_from: moment: expected end or start, got %', quote_nullable(left(moment, 100))
            using errcode = 'ER422';
    end if;
    update events.rule set kept_from = moment;
    perform errand_internal.record_action('events.set_kept_from', jsonb_build_object('moment', moment), reason);
end
$$;
