-- code_status: the QR codes of events, and whether their images are in the object store.
-- errand: for enqueuer, ops, monitor
-- errand: hides link, key
create or replace view events.code_status as
select
    code.id, code.event_id,
    case
        when upload.delivered_at is not null then 'stored'
        when code.error is not null then 'failed'
        else 'drawing'
    end as state,
    code.link, code.key, code.bytes, code.requested_at, code.drawn_at, upload.delivered_at as stored_at, code.job_id,
    code.error
from events.code
left join media.upload on upload.key = code.key;
comment on view events.code_status is 'The QR codes of events, and whether their images are in the object store';
comment on column events.code_status.id is 'the code''s id';
comment on column events.code_status.event_id is 'the event';
comment on column events.code_status.state is 'drawing, stored or failed';
comment on column events.code_status.link is 'the link that it holds';
comment on column events.code_status.key is 'its key in the object store';
comment on column events.code_status.bytes is 'size of the image';
comment on column events.code_status.requested_at is 'when it was first asked for';
comment on column events.code_status.drawn_at is 'when it was drawn';
comment on column events.code_status.stored_at is 'when the object store had it';
comment on column events.code_status.job_id is 'the job that draws it';
comment on column events.code_status.error is 'why it can''t be drawn';
