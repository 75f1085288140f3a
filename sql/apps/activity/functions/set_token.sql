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
    known activity.activity;
begin
    if given is null then
        raise exception 'set_token: token: expected one, got null' using errcode = 'ER422';
    end if;
    perform activity.check_account('set_token', who);
    select * into known from activity.activity as held where held.id = activity_id for update;
    reason := case
        when known.id is null or known.user_id <> user_id then 'unknown'
        when known.state in ('ended', 'failed') then known.state
        when clock_timestamp() >= known.ends_at then 'over'
    end;
    ok := reason is null;
    if ok and known.token is distinct from given then
        known.state := case known.state when 'starting' then 'live' else known.state end;
        update activity.activity as held
        set token = given, token_set_at = clock_timestamp(), state = known.state
        where held.id = activity_id;
        perform activity.record_change(activity_id, 'token set', known.state, who);
        if known.due_at <= clock_timestamp() then
            perform activity.enqueue_end(activity_id, now(), known.ends_at);
        elsif known.version > known.sent_version then
            perform activity.enqueue_push(activity_id, known.ends_at);
        end if;
    end if;
    return next;
end
$$;
