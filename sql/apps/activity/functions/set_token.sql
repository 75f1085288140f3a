-- set_token: stores the update token that the app reports for an activity. The newest one counts, also for waiting
-- jobs.
--
--   select ok, reason from activity.set_token('6c1d…', '80ab…');
--
-- Content that waited for the token is sent. user_id, if given, must be the activity's user: another one gets unknown.
-- ok is false with a reason: unknown (no such activity), over (its 8 hours), ended, failed. Raises ER422 for a text
-- that is no token, and for a who over 200 characters.
-- errand: for enqueuer, ops
create or replace function activity.set_token(
    activity_id uuid, token text, who text default null, user_id text default null
)
returns table (ok boolean, reason text)
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    given text := activity.check_token('set_token: token', token);
    existing activity.activity;
begin
    if given is null then
        raise exception 'set_token: token: expected one, got null' using errcode = 'ER422';
    end if;
    perform activity.check_account('set_token', who);
    select * into existing from activity.activity as target where target.id = activity_id for update;
    reason := case
        when existing.id is null or existing.user_id <> user_id then 'unknown'
        when existing.state in ('ended', 'failed') then existing.state
        when clock_timestamp() >= existing.ends_at then 'over'
    end;
    ok := reason is null;
    if ok and existing.token is distinct from given then
        existing.state := case existing.state when 'starting' then 'live' else existing.state end;
        update activity.activity as target
        set token = given, token_set_at = clock_timestamp(), state = existing.state
        where target.id = activity_id;
        perform activity.record_change(activity_id, 'token set', existing.state, who);
        if existing.due_at <= clock_timestamp() then
            perform activity.enqueue_end(activity_id, now(), existing.ends_at);
        elsif existing.version > existing.sent_version then
            perform activity.enqueue_push(activity_id, existing.ends_at);
        end if;
    end if;
    return next;
end
$$;
