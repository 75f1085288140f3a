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
    existing activity.activity;
begin
    select * into existing from activity.activity as target where target.id = activity for update;
    present := clock_timestamp();
    event := case
        when ends then 'end'
        when existing.start_token is not null and existing.token is null and existing.start_accepted_at is null
            then 'start'
        else 'update'
    end;
    device_token := case event when 'start' then existing.start_token else existing.token end;
    problem := case
        when existing.id is null then 'gone'
        when existing.ended_at is not null or not ends and existing.state = 'ending' then 'ended'
        when present >= existing.ends_at then 'over'
        when device_token is null or not ends and existing.sent_version >= existing.version then 'nothing'
    end;
    if problem is not null then
        return next;
        return;
    end if;
    sent_timestamp := greatest(existing.last_timestamp + 1, floor(extract(epoch from present))::bigint);
    update activity.activity as target
    set last_timestamp = sent_timestamp,
        state = case when ends then 'ending' else target.state end,
        start_tried_at = case event
            when 'start' then coalesce(target.start_tried_at, present) else target.start_tried_at
        end
    where target.id = activity;
    if ends and existing.state <> 'ending' then
        perform activity.record_change(activity, 'ending', 'ending', 'job ' || job_id, 'its time has come');
    end if;
    expires_at := floor(extract(epoch from existing.ends_at))::bigint;
    remaining_ms := floor(extract(epoch from existing.ends_at - present) * 1000)::bigint;
    dismissal := case when ends then sent_timestamp + extract(epoch from existing.dismiss_after)::bigint end;
    version := existing.version;
    alerts := existing.alerts or event = 'start';
    sender := existing.sender;
    message := existing.message;
    content_state := existing.content_state;
    attributes_type := existing.attributes_type;
    attributes := existing.attributes;
    return next;
end
$$;
