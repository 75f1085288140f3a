-- record_v1: records the result of a delivery, in the transaction that completes its job where it is final.
--
-- state is that of notify.delivery; waiting means that the push is tried again. ended says whether it is final. push
-- has the names of the columns: job_id, status, via, reason, service_id. A final result stays, unless the service
-- accepts the push after all. An accepted push ends its worker's streak of refused tokens.
create or replace function notify.record_v1(delivery bigint, state text, ended boolean, push jsonb) returns void
-- A plan from when the tables were empty would read all of them.
language sql security definer set search_path = pg_catalog, notify, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off as $$
    select devices.end_streaks((record_v1.push ->> 'job_id')::bigint, record_v1.push ->> 'via')
    where record_v1.state = 'accepted';
    update notify.delivery as existing
    set state = record_v1.state, tries = existing.tries + 1, tried_at = clock_timestamp(),
        ended_at = case when record_v1.ended then clock_timestamp() end, job_id = said.job_id, status = said.status,
        via = said.via, reason = left(said.reason, 1000), service_id = left(said.service_id, 200)
    from jsonb_to_record(record_v1.push) as said(
        job_id bigint, status smallint, via text, reason text, service_id text)
    where existing.id = record_v1.delivery
        and (existing.ended_at is null or existing.state = 'refused' or record_v1.state = 'accepted')
$$;
