-- record_push: records a push and its result. push is the job's report, with the names of the columns.
create or replace function activity.record_push(activity uuid, outcome text, push jsonb) returns void
language sql set search_path = pg_catalog, activity, pg_temp as $$
    insert into activity.push (
        activity_id, outcome, responded_at, job_id, sent_timestamp, version, status, event, via, reason, apns_id,
        payload)
    select
        record_push.activity, record_push.outcome, clock_timestamp(), said.job_id, said.sent_timestamp, said.version,
        said.status, said.event, said.via, left(said.reason, 1000), left(said.apns_id, 100), said.payload
    from jsonb_to_record(record_push.push) as said(
        job_id bigint, sent_timestamp bigint, version int, status smallint, event text, via text, reason text,
        apns_id text, payload jsonb)
$$;
