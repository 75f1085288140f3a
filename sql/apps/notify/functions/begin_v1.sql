-- begin_v1: returns the push of a delivery, for the job that sends it.
--
-- problem is null if there is something to send, else gone (there is no such delivery), ended (it has a final result),
-- over (its not_after has passed), or no device (it was removed or retired, or another person is logged in there). A
-- refused push may be sent again: an operator has retried its job. present is the database's clock. remaining_ms is how
-- long the push may be sent.
-- errand: after style_of, text_of
create or replace function notify.begin_v1(delivery bigint)
returns table (
    problem text, message_id uuid, device_id uuid, device_token text, environment text, title text, body text,
    data jsonb, collapse text, style jsonb, expires_at bigint, remaining_ms bigint, present timestamptz
)
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, notify, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_variable
declare
    existing notify.delivery;
    message notify.message;
    device devices.device;
begin
    select * into existing from notify.delivery as target where target.id = delivery;
    select * into message from notify.message as target where target.id = existing.message_id;
    select * into device
    from devices.device as target
    where target.id = existing.device_id and target.user_id = existing.user_id and target.platform = existing.platform
        and target.retired_at is null;
    present := clock_timestamp();
    problem := case
        when existing.id is null then 'gone'
        when existing.ended_at is not null and existing.state <> 'refused' then 'ended'
        when present >= existing.not_after then 'over'
        when device.id is null then 'no device'
    end;
    if problem is null then
        message_id := message.id;
        device_id := device.id;
        device_token := device.token;
        environment := device.environment;
        title := message.title;
        body := message.body;
        if message.profile is not null then
            style := notify.style_of(message.profile);
            select coalesce(title, text.title), coalesce(body, text.body) into title, body
            from notify.text_of(message.profile, device.locale, message.words) as text;
        end if;
        data := message.data;
        collapse := message.collapse;
        expires_at := floor(extract(epoch from existing.not_after))::bigint;
        remaining_ms := floor(extract(epoch from existing.not_after - present) * 1000)::bigint;
    end if;
    return next;
end
$$;
