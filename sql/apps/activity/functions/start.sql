-- start: starts a Live Activity, and enqueues its end in the same transaction.
--
--   select ok, reason, activity_id, ends_at
--   from activity.start('user-18', 'Anna', 'Are you there?', start_token => '80ab…');
--
-- With a start_token, a push starts it on the phone. Activities of other users with that token end: the phone has
-- another user now. If the app has started it itself, its update token is given as
-- token, or reported by activity.set_token. Its end is due a margin (60 s, see activity.set_margin) before its 8 hours
-- are over. attributes and content_state are what the app decodes, by default {"sender": …} and {"sender": …,
-- "message": …}; activityId is added to the attributes. started_at is an earlier start. dismiss_after is how long it
-- stays on the lock screen after its end, up to 4 hours; with null the phone decides. who is recorded. sender_id is the
-- user whose message it shows, by default who: people.export has it among that user's, people.erase removes it.
--
-- ok is false with the reason over if its 8 hours are over by then. Raises ER422 and ER413 for arguments out of bounds.
-- errand: for enqueuer, ops
create or replace function activity.start(
    user_id text, sender text, message text, start_token text default null, token text default null,
    attributes_type text default 'MessageAttributes', attributes jsonb default null, content_state jsonb default null,
    started_at timestamptz default null, dismiss_after interval default '0 s', who text default null,
    sender_id text default null
) returns table (ok boolean, reason text, activity_id uuid, ends_at timestamptz)
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    -- Not now(): a long transaction may have begun much earlier.
    present constant timestamptz := clock_timestamp();
    begun constant timestamptz := coalesce(started_at, present);
begin
    if not isfinite(begun) or begun > present + interval '1 minute' then
        raise exception 'start: started_at: expected a time in the past, got %', begun using errcode = 'ER422';
    end if;
    ends_at := begun + interval '8 hours';
    ok := ends_at > present;
    if ok then
        activity_id := activity.open(
            'start', user_id, coalesce(sender_id, who), sender, message, start_token, token, attributes_type,
            attributes, content_state, begun, ends_at - (select margin from activity.setting), dismiss_after, who);
    else
        reason := 'over';
    end if;
    return next;
end
$$;
