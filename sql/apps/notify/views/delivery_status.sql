-- delivery_status: what became of each notification on each device.
-- errand: for enqueuer, ops, monitor
-- errand: hides user_id
create or replace view notify.delivery_status as
select
    delivery.id, delivery.message_id, delivery.user_id, delivery.device_id, delivery.platform, delivery.state,
    delivery.reason, delivery.via,
    delivery.status, delivery.service_id, delivery.tries, delivery.created_at, delivery.not_after, delivery.tried_at,
    delivery.ended_at,
    coalesce(job.id, delivery.job_id) as job_id, job.state as job_state
from notify.delivery
left join errand.job
    on job.unique_key = coalesce('notification_batch/' || delivery.batch, 'notification/' || delivery.id)
        and delivery.ended_at is null;
comment on view notify.delivery_status is 'What became of each notification on each device, for 30 days';
comment on column notify.delivery_status.id is 'the delivery''s number';
comment on column notify.delivery_status.message_id is 'the notification';
comment on column notify.delivery_status.user_id is 'the receiver';
comment on column notify.delivery_status.device_id is 'the device; it may be gone by now';
comment on column notify.delivery_status.platform is 'apns (Apple) or fcm (Google)';
comment on column notify.delivery_status.state is
    'waiting, not_sent (no credentials are set, or those of other servers; with ended_at, for good), accepted (by the '
    'service), token gone (the device does not exist any more), refused (for good), expired (too late), withdrawn (by '
    'notify.withdraw)';
comment on column notify.delivery_status.reason is 'the service''s reason, or the error';
comment on column notify.delivery_status.via is
    'apns or fcm; log if ERRAND_PUSH says so: no device has received it; none if no credentials are set';
comment on column notify.delivery_status.status is 'the service''s HTTP status; null if there was none';
comment on column notify.delivery_status.service_id is 'the service''s id of the accepted push';
comment on column notify.delivery_status.tries is 'how often it was tried';
comment on column notify.delivery_status.created_at is 'when it was enqueued';
comment on column notify.delivery_status.not_after is 'nothing is pushed later';
comment on column notify.delivery_status.tried_at is 'when its newest result was recorded';
comment on column notify.delivery_status.ended_at is 'when its result was final; null until then';
comment on column notify.delivery_status.job_id is 'the job that sends it, or has tried it last';
comment on column notify.delivery_status.job_state is 'that job''s state; null if there is none any more';
