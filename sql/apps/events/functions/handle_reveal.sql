-- handle_reveal: the handler of the kind event_reveal. Tells the participants of an event that its photos are revealed,
-- once.
--
-- Nothing else depends on it: events.photos_of compares with the clock. It is enqueued in the transaction that plans
-- the reveal, for that time, and moves with it. The payload is {event}, the output {people}.
-- errand: after reveal_v1
create or replace function events.handle_reveal(payload jsonb, state jsonb) returns errand.outcome
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
declare
    event constant uuid := payload ->> 'event';
    told record;
begin
    select * into told from events.reveal_v1(event);
    return case told.status
        -- The host has moved the reveal while this job was starting.
        when 'too_early' then errand.outcome_snooze(greatest(told.reveal_at - clock_timestamp(), interval '0'))
        when 'gone' then errand.outcome_cancel(format('event %s is gone', event))
        else errand.outcome_done(jsonb_build_object('people', told.people))
    end;
end
$$;
