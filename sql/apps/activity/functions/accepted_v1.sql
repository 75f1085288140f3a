-- accepted_v1: records that a push was accepted, in the transaction that completes its job.
--
-- Returns again if there is newer content to send, else done; gone if the activity does not exist any more.
create or replace function activity.accepted_v1(activity uuid, push jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    known activity.activity;
    event constant text := push ->> 'event';
    sent constant int := (push ->> 'version')::int;
    who constant text := 'job ' || (push ->> 'job_id');
begin
    select * into known from activity.activity as held where held.id = activity for update;
    if not found then
        return 'gone';
    end if;
    perform activity.record_push(activity, 'accepted', push);
    if event = 'end' then
        if known.ended_at is null then
            update activity.activity as held
            set state = 'ended', ended_at = clock_timestamp(), end_reason = 'ended by a push',
                sent_version = greatest(held.sent_version, sent), ended_in = pg_current_xact_id()
            where held.id = activity;
            perform activity.record_change(activity, 'ended', 'ended', who, 'its end was accepted');
        end if;
        return 'done';
    end if;
    update activity.activity as held
    set sent_version = greatest(held.sent_version, sent),
        start_accepted_at = case event
            when 'start' then coalesce(held.start_accepted_at, clock_timestamp()) else held.start_accepted_at
        end,
        alerts = held.alerts and held.version > sent
    where held.id = activity
    returning * into known;
    perform activity.record_change(activity, event || ' sent', known.state, who);
    return case
        when known.ended_at is null and known.state <> 'ending' and known.token is not null
            and known.version > known.sent_version
        then 'again' else 'done' end;
end
$$;
