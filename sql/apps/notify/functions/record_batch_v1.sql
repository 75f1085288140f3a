-- record_batch_v1: records the results of some deliveries of a batch, in one statement.
--
-- Each element of results is an object: delivery, state and ended as in notify.record_v1, and the columns via, status,
-- reason, service_id. retry_ms says when a waiting one is tried again; without it, as soon as possible. is_parked means
-- that the service was down: it isn't counted as a try. A dead token has the device, the token, since (Unix seconds)
-- and said of devices.retire_v1; if the token was registered again since, the push waits. A final result stays, unless
-- the service accepts the push after all.
create or replace function notify.record_batch_v1(job_id bigint, results jsonb) returns void
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, notify, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    gone record;
    again bigint[] := '{}';
begin
    -- In the order of all sessions, so that none waits for another in a circle.
    perform
    from notify.delivery
    where id = any (array(select (result ->> 'delivery')::bigint from jsonb_array_elements(results) as result))
    order by id
    for update;
    for gone in
        select said.*
        from jsonb_to_recordset(results) as said(
            delivery bigint, device uuid, token text, since float8, said text)
        where said.token is not null
        order by said.device
    loop
        if devices.retire_v1(gone.device, gone.token, to_timestamp(gone.since), gone.said) = 'newer' then
            again := again || gone.delivery;
        end if;
    end loop;
    update notify.delivery as held
    set
        state = case when said.again then 'waiting' else said.state end,
        tries = held.tries + case when said.is_parked then 0 else 1 end, tried_at = clock_timestamp(),
        ended_at = case when said.ended and not said.again then clock_timestamp() end,
        retry_at = clock_timestamp() + said.retry_ms * interval '1 millisecond', job_id = $1, status = said.status,
        via = said.via, reason = left(said.reason, 1000), service_id = left(said.service_id, 200)
    from (
        select *, delivery = any (again) as again
        from jsonb_to_recordset(results) as said(
            delivery bigint, state text, ended boolean, is_parked boolean, retry_ms bigint, status smallint, via text,
            reason text, service_id text)
    ) as said
    where held.id = said.delivery
        and (held.ended_at is null or held.state = 'refused' or said.state = 'accepted');
end
$$;
comment on function notify.record_batch_v1(bigint, jsonb) is
    'For the jobs notification_apns_batch and notification_fcm_batch: records the results of some deliveries';
