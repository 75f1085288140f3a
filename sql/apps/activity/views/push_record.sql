-- push_record: every push that was to be sent for an activity, and what became of it.
create or replace view activity.push_record as
select
    id, activity_id, job_id, event, to_timestamp(sent_timestamp) as sent_timestamp, version, outcome, via, status, reason,
    apns_id, answered_at, payload
from activity.push;
comment on view activity.push_record is 'Every push that was to be sent for an activity, and what became of it';
comment on column activity.push_record.id is 'names the push, in the order in which they were answered';
comment on column activity.push_record.activity_id is 'which activity';
comment on column activity.push_record.job_id is 'the job that sent it';
comment on column activity.push_record.event is 'start, update or end';
comment on column activity.push_record.sent_timestamp is 'what it carried as its timestamp: never earlier than that of one before';
comment on column activity.push_record.version is 'of the content that it carried';
comment on column activity.push_record.outcome is
    'accepted, token gone, refused (for good), put off (tried again), not_sent (no key is set: it waits for one)';
comment on column activity.push_record.via is 'apns; log where ERRAND_PUSH says so: no device has got it; none where no key is set';
comment on column activity.push_record.status is 'the HTTP status; null where none came';
comment on column activity.push_record.reason is 'what APNs said, or what went wrong';
comment on column activity.push_record.apns_id is 'the name that APNs has for it';
comment on column activity.push_record.answered_at is 'when its answer was recorded';
comment on column activity.push_record.payload is 'what it said; kept only of those that went to the log';
