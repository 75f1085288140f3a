-- end_now: ends an activity before its 8 hours are over. The job of its end runs now instead.
--
--   select ok, reason from activity.end_now('6c1d…', why => 'it was read');
--
-- message and content_state are the last content, as in activity.update. dismiss_after is how long that stays on the
-- lock screen, 0 to 4 hours; the default is the value of its start. The call is idempotent. An end that was refused is
-- retried. If the start was not sent yet, nothing is ever sent. user_id, if given, must be the activity's user: another
-- one gets unknown.
--
-- ok is false with a reason: unknown (no such activity), over (its 8 hours), ended. Raises ER422 for a dismiss_after
-- over 4 hours, a who over 200 characters or a why over 1,000; ER422 and ER413 for invalid content.
-- errand: for enqueuer, ops
create or replace function activity.end_now(
    activity_id uuid, message text default null, content_state jsonb default null, dismiss_after interval default null,
    who text default null, why text default null, user_id text default null
) returns table (ok boolean, reason text)
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    existing activity.activity;
    present timestamptz;
    never_sent boolean;
begin
    if dismiss_after not between interval '0' and interval '4 hours' then
        raise exception 'end_now: dismiss_after: expected 0 to 4 hours, got %', dismiss_after using errcode = 'ER422';
    end if;
    perform activity.check_account('end_now', who, why);
    select * into existing from activity.activity as target where target.id = activity_id for update;
    present := clock_timestamp();
    reason := case
        when existing.id is null or existing.user_id <> user_id then 'unknown'
        when existing.state = 'ended' then 'ended'
        when present >= existing.ends_at then 'over'
    end;
    ok := reason is null;
    if ok and existing.state <> 'ending' then
        existing.message := coalesce(message, existing.message);
        existing.content_state := coalesce(content_state, existing.content_state)
            || case when message is null then '{}' else jsonb_build_object('message', message) end;
        perform activity.check_content(
            'end_now', existing.sender, existing.message, existing.attributes, existing.content_state);
        never_sent := existing.token is null and existing.start_token is not null and existing.start_tried_at is null;
        update activity.activity as target
        set state = case when never_sent then 'ended' else 'ending' end,
            ended_at = case when never_sent then present end,
            end_reason = case when never_sent then 'ended before it was started' end,
            due_at = greatest(target.started_at, least(target.due_at, present)),
            message = existing.message, content_state = existing.content_state,
            dismiss_after = coalesce(dismiss_after, target.dismiss_after)
        where target.id = activity_id;
        if never_sent then
            perform activity.record_change(activity_id, 'ended', 'ended', who, coalesce(why, 'before it was started'));
            perform activity.cancel_jobs(activity_id, 'the activity was ended before it was started');
        else
            perform activity.record_change(activity_id, 'ending', 'ending', who, why);
            perform activity.enqueue_end(activity_id, now(), existing.ends_at);
        end if;
    end if;
    return next;
end
$$;
