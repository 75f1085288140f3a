-- activity_status: the activities and their states.
-- errand: for enqueuer, ops, monitor
-- errand: hides user_id, sender_id, sender, message, content_state
create or replace view activity.activity_status as
select
    existing.id, existing.user_id, existing.sender_id, existing.sender, existing.message, existing.state,
    existing.started_at, existing.due_at,
    existing.ends_at, existing.ended_at, existing.end_reason, existing.token is not null as has_token,
    existing.token_set_at,
    existing.start_tried_at, existing.start_accepted_at, existing.version, existing.sent_version,
    existing.content_state,
    job.id as end_job_id, job.state as end_job_state
from activity.activity as existing
left join errand.job on job.unique_key = 'activity_end/' || existing.id and existing.ended_at is null;
comment on view activity.activity_status is 'The activities and their states, until 30 days after their end';
comment on column activity.activity_status.id is 'the activity''s id';
comment on column activity.activity_status.user_id is 'its user';
comment on column activity.activity_status.sender_id is 'the user whose message it shows';
comment on column activity.activity_status.sender is 'sender of the message; DEMO for a demonstration';
comment on column activity.activity_status.message is 'the preview of the message';
comment on column activity.activity_status.state is
    'starting (waits for its update token), live, ending (its end is enqueued), ended, failed (its start or end was '
    'refused)';
comment on column activity.activity_status.started_at is 'when it was started';
comment on column activity.activity_status.due_at is 'when its end is to be sent';
comment on column activity.activity_status.ends_at is '8 hours after its start: nothing is sent later';
comment on column activity.activity_status.ended_at is 'when it ended or failed';
comment on column activity.activity_status.end_reason is 'why';
comment on column activity.activity_status.has_token is 'whether an update token is known';
comment on column activity.activity_status.token_set_at is 'when the update token was last reported';
comment on column activity.activity_status.start_tried_at is 'when the push that starts it was first sent';
comment on column activity.activity_status.start_accepted_at is 'when the push that starts it was accepted';
comment on column activity.activity_status.version is 'version of the content, from 1 on';
comment on column activity.activity_status.sent_version is 'the newest version that was accepted';
comment on column activity.activity_status.content_state is 'the newest content, as the app decodes it';
comment on column activity.activity_status.end_job_id is 'the job that ends it';
comment on column activity.activity_status.end_job_state is 'that job''s state; null if there is none any more';
