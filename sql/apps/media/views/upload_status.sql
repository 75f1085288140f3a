-- upload_status: the submitted objects and their states.
-- errand: for enqueuer, ops, monitor
-- errand: hides owner, key, error, attempts
create or replace view media.upload_status as
select
    upload.id, upload.photo, upload.owner, upload.key,
    case
        when upload.removed_at is not null then 'removed'
        when upload.delivered_at is not null then 'delivered'
        when live.id is not null then live.state
        when failed.id is not null then 'failed'
        else 'cancelled'
    end as state,
    upload.size, upload.type, encode(upload.sha256, 'hex') as sha256, upload.bytes is not null as is_staged,
    coalesce(live.attempt, failed.attempt) as attempt, coalesce(live.max_attempts, failed.max_attempts) as max_attempts,
    live.run_at as due_at, live.parked_for as waits_for,
    coalesce(failed.error, live.attempts -> -1 ->> 'error') as error,
    coalesce(failed.attempts, live.attempts) as attempts,
    upload.job_id, upload.staged_at, upload.delivered_at, failed.finished_at as failed_at, upload.removed_at
from media.upload
left join errand.job as live on live.id = upload.job_id and upload.bytes is not null
left join errand.failed as failed on failed.id = upload.job_id and upload.bytes is not null;
comment on view media.upload_status is 'The submitted objects: state, attempts, errors. Failed ones stay';
comment on column media.upload_status.id is 'the upload''s id, for media.retry_upload';
comment on column media.upload_status.photo is 'the photo whose result it is';
comment on column media.upload_status.owner is 'its owner, in the words of the app';
comment on column media.upload_status.key is 'its key in the object store';
comment on column media.upload_status.state is
    'delivered; removed, as an original that no photo needs any more; or the state of its job: available, running, '
    'parked, scheduled (waits for its next attempt), failed, cancelled';
comment on column media.upload_status.size is 'size in bytes';
comment on column media.upload_status.type is 'its media type';
comment on column media.upload_status.sha256 is 'hash of its bytes';
comment on column media.upload_status.is_staged is 'whether its bytes are here: until the store has them';
comment on column media.upload_status.attempt is 'number of attempts; waiting for the store spends none';
comment on column media.upload_status.max_attempts is 'number of attempts: a failure of the last one is final';
comment on column media.upload_status.due_at is 'when its next attempt is due';
comment on column media.upload_status.waits_for is 'what it waits for while parked: circuit:storage';
comment on column media.upload_status.error is 'the last error';
comment on column media.upload_status.attempts is 'all failed attempts, each with its worker, times and error';
comment on column media.upload_status.job_id is 'the job that stores it';
comment on column media.upload_status.staged_at is 'when it was submitted';
comment on column media.upload_status.delivered_at is 'when the store had it';
comment on column media.upload_status.failed_at is 'when its last attempt failed';
comment on column media.upload_status.removed_at is
    'when it was listed for removal, as the original of photos whose results are stored';
