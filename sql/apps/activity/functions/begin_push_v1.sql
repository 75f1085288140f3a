-- begin_push_v1: returns what a job is to send for an activity now, with the newest token and a timestamp later than
-- that of every push before. The job commits this before it sends, so no timestamp occurs twice.
--
-- problem is null if there is something to send, else gone (no such activity), ended, over (its 8 hours), or nothing
-- (for now: see activity.next_step_v1). From the first try of its end on, the activity is ending and takes no update.
-- present is the database's clock. remaining_ms is how long the push may be sent: never at the 8 hours or later.
create or replace function activity.begin_push_v1(activity uuid, job_id bigint, ends boolean)
returns table (
    problem text, event text, device_token text, sent_timestamp bigint, expires_at bigint, remaining_ms bigint,
    present timestamptz, dismissal bigint, version int, alerts boolean, sender text, message text, content_state jsonb,
    attributes_type text, attributes jsonb
)
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    known activity.activity;
begin
    select * into known from activity.activity as held where held.id = activity for update;
    present := clock_timestamp();
    event := case
        when ends then 'end'
        when known.start_token is not null and known.token is null and known.start_accepted_at is null then 'start'
        else 'update'
    end;
    device_token := case event when 'start' then known.start_token else known.token end;
    problem := case
        when known.id is null then 'gone'
        when known.ended_at is not null or not ends and known.state = 'ending' then 'ended'
        when present >= known.ends_at then 'over'
        when device_token is null or not ends and known.sent_version >= known.version then 'nothing'
    end;
    if problem is not null then
        return next;
        return;
    end if;
    sent_timestamp := greatest(known.last_timestamp + 1, floor(extract(epoch from present))::bigint);
    update activity.activity as held
    set last_timestamp = sent_timestamp,
        state = case when ends then 'ending' else held.state end,
        start_tried_at = case event
            when 'start' then coalesce(held.start_tried_at, present) else held.start_tried_at
        end
    where held.id = activity;
    if ends and known.state <> 'ending' then
        perform activity.record_change(activity, 'ending', 'ending', 'job ' || job_id, 'its time has come');
    end if;
    expires_at := floor(extract(epoch from known.ends_at))::bigint;
    remaining_ms := floor(extract(epoch from known.ends_at - present) * 1000)::bigint;
    dismissal := case when ends then sent_timestamp + extract(epoch from known.dismiss_after)::bigint end;
    version := known.version;
    alerts := known.alerts or event = 'start';
    sender := known.sender;
    message := known.message;
    content_state := known.content_state;
    attributes_type := known.attributes_type;
    attributes := known.attributes;
    return next;
end
$$;
