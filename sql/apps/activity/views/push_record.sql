-- push_record: all pushes for activities, sent or not, and their results.
-- errand: for enqueuer, ops, monitor
-- errand: hides payload
create or replace view activity.push_record as
select
    id, activity_id, job_id, event, to_timestamp(sent_timestamp) as sent_timestamp, version, outcome, via, status,
    reason,
    apns_id, responded_at, payload
from activity.push;
comment on view activity.push_record is 'All pushes for activities, sent or not, and their results';
comment on column activity.push_record.id is 'the push''s number, in the order of their results';
comment on column activity.push_record.activity_id is 'the activity';
comment on column activity.push_record.job_id is 'the job that sent it';
comment on column activity.push_record.event is 'start, update or end';
comment on column activity.push_record.sent_timestamp is 'its timestamp: never earlier than that of a push before';
comment on column activity.push_record.version is 'version of its content';
comment on column activity.push_record.outcome is
    'accepted, token gone, refused (for good), put off (retried), not_sent (no key is set: it waits for one)';
comment on column activity.push_record.via is
    'apns; log if ERRAND_PUSH says so: no device has received it; none if no key is set';
comment on column activity.push_record.status is 'the HTTP status; null if there was none';
comment on column activity.push_record.reason is 'APNs'' reason, or the error';
comment on column activity.push_record.apns_id is 'APNs'' id of the push';
comment on column activity.push_record.responded_at is 'when its result was recorded';
comment on column activity.push_record.payload is 'its content; stored only for pushes to the log';
