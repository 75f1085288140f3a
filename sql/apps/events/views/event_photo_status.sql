-- event_photo_status: the photos of events and their states.
-- errand: for ops, monitor
-- errand: hides user_id, source_key, error
create or replace view events.event_photo_status as
select
    photo.event_id, photo.photo, photo.user_id, status.state, photo.source_key, status.result_key, status.bytes,
    status.width, status.height, photo.added_at, status.delivered_at, status.error
from events.photo
join media.photo_status as status on status.id = photo.photo;
comment on view events.event_photo_status is 'The photos of events and their states';
comment on column events.event_photo_status.event_id is 'the event';
comment on column events.event_photo_status.photo is 'the photo''s id';
comment on column events.event_photo_status.user_id is 'the user who took it';
comment on column events.event_photo_status.state is 'submitted, compressed, delivered or failed';
comment on column events.event_photo_status.source_key is 'key of the original';
comment on column events.event_photo_status.result_key is 'key of the result';
comment on column events.event_photo_status.bytes is 'size of the result';
comment on column events.event_photo_status.width is 'width of the result, in pixels';
comment on column events.event_photo_status.height is 'height of the result, in pixels';
comment on column events.event_photo_status.added_at is 'when it was added';
comment on column events.event_photo_status.delivered_at is 'when the object store had the result';
comment on column events.event_photo_status.error is 'why it failed';
