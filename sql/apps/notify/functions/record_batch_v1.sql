-- record_batch_v1: records the results of some deliveries of a batch, in one statement.
--
-- Each element of results is an object: delivery, state and ended as in notify.record_v1, and the columns via, status,
-- reason, service_id. retry_ms says when a waiting one is tried again; without it, as soon as possible. is_parked means
-- that the service was down: it isn't counted as a try. A dead token has the device, the token, since (Unix seconds)
-- and said of devices.retire_v1; if the token was registered again since, the push waits for retry_ms. A final result
-- stays, unless the service accepts the push after all.
--
-- is_ambiguous means that wrong settings would give the same reason for every token: they are correct if the service
-- has accepted another push of these. Returns whether they are wrong: then the pushes with such a reason wait.
create or replace function notify.record_batch_v1(job_id bigint, results jsonb) returns boolean
-- A plan from when the tables were empty would read all of them.
language plpgsql security definer set search_path = pg_catalog, notify, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
#variable_conflict use_column
declare
    accepted constant text := (
        select min(said ->> 'via') from jsonb_array_elements(results) as said where said ->> 'state' = 'accepted');
    gone record;
    became text;
    again bigint[] := '{}';
    later bigint[] := '{}';
    misconfigured text;
begin
    -- In the order of all sessions, so that none waits for another in a circle.
    perform
    from notify.delivery
    where id = any (array(select (result ->> 'delivery')::bigint from jsonb_array_elements(results) as result))
    order by id
    for update;
    if accepted is not null then
        perform devices.end_streaks($1, accepted);
    end if;
    for gone in
        select said.*
        from jsonb_to_recordset(results) as said(
            delivery bigint, device uuid, token text, since float8, said text, is_ambiguous boolean, via text)
        where said.token is not null
        order by said.is_ambiguous desc, said.device
    loop
        became := devices.retire_v1(
            gone.device, gone.token, to_timestamp(gone.since), gone.said,
            case when gone.is_ambiguous and accepted is null then $1 end);
        if became in ('newer', 'misconfigured') then
            again := again || gone.delivery;
        end if;
        if became = 'newer' then
            later := later || gone.delivery;
        end if;
        if became = 'misconfigured' then
            misconfigured := gone.via;
        end if;
    end loop;
    update notify.delivery as existing
    set
        state = case when said.again then 'waiting' else said.state end,
        tries = existing.tries + case when said.is_parked or said.again and said.is_ambiguous then 0 else 1 end,
        tried_at = clock_timestamp(),
        ended_at = case when said.ended and not said.again then clock_timestamp() end,
        retry_at = case
            when existing.id = any (later) or not said.ended
                then clock_timestamp() + said.retry_ms * interval '1 millisecond'
        end,
        job_id = $1, status = said.status,
        via = said.via, reason = left(said.reason, 1000), service_id = left(said.service_id, 200)
    from (
        select *, delivery = any (again) as again
        from jsonb_to_recordset(results) as said(
            delivery bigint, state text, ended boolean, is_parked boolean, is_ambiguous boolean, retry_ms bigint,
            status smallint, via text, reason text, service_id text)
    ) as said
    where existing.id = said.delivery
        and (existing.ended_at is null or existing.state = 'refused' or said.state = 'accepted');
    if misconfigured is not null then
        -- Among them the pushes of this batch that were recorded before the fifth.
        perform notify.reopen_v1(misconfigured);
    end if;
    return misconfigured is not null;
end
$$;
