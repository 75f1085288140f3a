-- accepted_v1: records that a push was accepted, in the transaction that completes its job.
--
-- Returns again if there is newer content to send, else done; gone if the activity does not exist any more.
create or replace function activity.accepted_v1(activity uuid, push jsonb) returns text
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    existing activity.activity;
    event constant text := push ->> 'event';
    sent constant int := (push ->> 'version')::int;
    who constant text := 'job ' || (push ->> 'job_id');
begin
    select * into existing from activity.activity as target where target.id = activity for update;
    if not found then
        return 'gone';
    end if;
    perform activity.record_push(activity, 'accepted', push);
    if event = 'end' then
        if existing.ended_at is null then
            update activity.activity as target
            set state = 'ended', ended_at = clock_timestamp(), end_reason = 'ended by a push',
                sent_version = greatest(target.sent_version, sent), ended_in = pg_current_xact_id()
            where target.id = activity;
            perform activity.record_change(activity, 'ended', 'ended', who, 'its end was accepted');
        end if;
        return 'done';
    end if;
    update activity.activity as target
    set sent_version = greatest(target.sent_version, sent),
        start_accepted_at = case event
            when 'start' then coalesce(target.start_accepted_at, clock_timestamp()) else target.start_accepted_at
        end,
        alerts = target.alerts and target.version > sent
    where target.id = activity
    returning * into existing;
    perform activity.record_change(activity, event || ' sent', existing.state, who);
    return case
        when existing.ended_at is null and existing.state <> 'ending' and existing.token is not null
            and existing.version > existing.sent_version
        then 'again' else 'done' end;
end
$$;
