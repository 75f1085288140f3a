-- begin_batch_v1: returns the next pushes of a batch that are due, in the order of their numbers, for the job that
-- sends them.
--
-- after is the last delivery that the caller has tried, or 0; last is the last one of the batch. problem is null, over
-- or no device, and the further columns are those of notify.begin_v1. tries is how often the delivery was tried before.
-- again returns those that were refused: an operator has retried the job.
-- errand: after style_of, text_of
create or replace function notify.begin_batch_v1(
    batch bigint, last bigint, after bigint, again boolean, max_deliveries int
) returns table (
    problem text, message_id uuid, device_id uuid, device_token text, environment text, title text, body text,
    data jsonb, collapse text, style jsonb, expires_at bigint, remaining_ms bigint, present timestamptz,
    delivery bigint, tries int
)
-- Few rows, each found by its key. A plan from when the tables were empty would read all of them.
language sql security definer set search_path = pg_catalog, notify, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
    with due as materialized (
        select existing.*, clock_timestamp() as present
        from notify.delivery as existing
        where existing.id > greatest(begin_batch_v1.after, begin_batch_v1.batch - 1)
            and existing.id <= begin_batch_v1.last
            and existing.batch = begin_batch_v1.batch
            and case
                when begin_batch_v1.again then existing.state = 'refused'
                else existing.ended_at is null and (existing.retry_at is null or existing.retry_at <= clock_timestamp())
            end
        order by existing.id
        limit begin_batch_v1.max_deliveries
    )
    select
        case when due.present >= due.not_after then 'over' when device.id is null then 'no device' end,
        message.id, due.device_id, device.token, device.environment, coalesce(message.title, shown.title),
        coalesce(message.body, shown.body), message.data, message.collapse, notify.style_of(message.profile),
        floor(extract(epoch from due.not_after))::bigint,
        floor(extract(epoch from due.not_after - due.present) * 1000)::bigint, due.present, due.id, due.tries
    from due
    join notify.message on message.id = due.message_id
    left join devices.device
        on device.id = due.device_id and device.user_id = due.user_id and device.platform = due.platform
            and device.retired_at is null
    left join lateral notify.text_of(message.profile, device.locale, message.words) as shown
        on message.profile is not null
    order by due.id
$$;
