-- update: changes the content of an activity. Its end stays where it is.
--
--   select ok, reason from activity.update('6c1d…', message => 'On my way');
--
-- A message goes into the content_state as "message"; a content_state replaces all of it. alert: the phone makes a
-- sound. Of several waiting updates the newest is sent. If the activity waits for its update token, the update is sent
-- when that comes. user_id, if given, must be the activity's user: another one gets unknown.
--
-- ok is false with a reason: unknown (no such activity), ending, over (its 8 hours), ended, failed. Raises ER422
-- without a message and a content_state, for a who over 200 characters or a why over 1,000; ER422 and ER413 for invalid
-- content.
-- errand: for enqueuer, ops
create or replace function activity.update(
    activity_id uuid, message text default null, content_state jsonb default null, alert boolean default false,
    who text default null, why text default null, user_id text default null
) returns table (ok boolean, reason text)
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    existing activity.activity;
begin
    if num_nonnulls(message, content_state) = 0 then
        raise exception 'update: expected a message or a content_state, got neither' using errcode = 'ER422';
    end if;
    perform activity.check_account('update', who, why);
    select * into existing from activity.activity as target where target.id = activity_id for update;
    reason := case
        when existing.id is null or existing.user_id <> user_id then 'unknown'
        when existing.state in ('ending', 'ended', 'failed') then existing.state
        when clock_timestamp() >= existing.ends_at then 'over'
    end;
    ok := reason is null;
    if ok then
        existing.message := coalesce(message, existing.message);
        existing.content_state := coalesce(content_state, existing.content_state)
            || case when message is null then '{}' else jsonb_build_object('message', message) end;
        perform activity.check_content(
            'update', existing.sender, existing.message, existing.attributes, existing.content_state);
        update activity.activity as target
        set message = existing.message, content_state = existing.content_state, version = target.version + 1,
            alerts = target.alerts or coalesce(alert, false)
        where target.id = activity_id;
        perform activity.record_change(activity_id, 'updated', existing.state, who, why);
        if existing.token is not null then
            perform activity.enqueue_push(activity_id, existing.ends_at);
        end if;
    end if;
    return next;
end
$$;
