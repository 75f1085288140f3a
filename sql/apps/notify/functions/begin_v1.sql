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
    known notify.delivery;
    message notify.message;
    device devices.device;
begin
    select * into known from notify.delivery as held where held.id = delivery;
    select * into message from notify.message as held where held.id = known.message_id;
    select * into device
    from devices.device as held
    where held.id = known.device_id and held.user_id = known.user_id and held.platform = known.platform
        and held.retired_at is null;
    present := clock_timestamp();
    problem := case
        when known.id is null then 'gone'
        when known.ended_at is not null and known.state <> 'refused' then 'ended'
        when present >= known.not_after then 'over'
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
        expires_at := floor(extract(epoch from known.not_after))::bigint;
        remaining_ms := floor(extract(epoch from known.not_after - present) * 1000)::bigint;
    end if;
    return next;
end
$$;
