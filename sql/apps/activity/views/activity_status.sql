-- activity_status: activities, and what has become of them.
create or replace view activity.activity_status as
select
    held.id, held.user_id, held.sender, held.message, held.state, held.started_at, held.due_at, held.ends_at, held.ended_at,
    held.end_reason, held.token is not null as has_token, held.token_set_at, held.start_tried_at, held.start_accepted_at,
    held.version, held.sent_version, held.content_state, job.id as end_job_id, job.state as end_job_state
from activity.activity as held
left join errand.job on job.unique_key = 'activity_end/' || held.id and held.ended_at is null;
comment on view activity.activity_status is 'Activities, and what has become of them: for 30 days after their end';
comment on column activity.activity_status.id is 'names the activity';
comment on column activity.activity_status.user_id is 'whose lock screen it is on';
comment on column activity.activity_status.sender is 'who sent what it shows; DEMO is nobody';
comment on column activity.activity_status.message is 'the preview of the message';
comment on column activity.activity_status.state is
    'starting (waits for its update token), live, ending (its end is in line), ended, failed (its start or end was refused)';
comment on column activity.activity_status.started_at is 'when it was started';
comment on column activity.activity_status.due_at is 'when its end is to be sent';
comment on column activity.activity_status.ends_at is '8 hours after its start: nothing is sent then any more';
comment on column activity.activity_status.ended_at is 'when it was over, or was given up';
comment on column activity.activity_status.end_reason is 'why';
comment on column activity.activity_status.has_token is 'whether an update token is known';
comment on column activity.activity_status.token_set_at is 'when it was reported last';
comment on column activity.activity_status.start_tried_at is 'when a push that starts it was sent first';
comment on column activity.activity_status.start_accepted_at is 'when one was accepted';
comment on column activity.activity_status.version is 'of the content, counted from 1';
comment on column activity.activity_status.sent_version is 'the newest that was accepted';
comment on column activity.activity_status.content_state is 'the newest content, as the app decodes it';
comment on column activity.activity_status.end_job_id is 'the job that ends it';
comment on column activity.activity_status.end_job_state is 'that job''s state; null where there is none (any more)';
