-- event_figures: the figures of each event.
-- errand: for enqueuer, ops, monitor
-- errand: hides host
create or replace view events.event_figures as
select
    event.id, event.host, count(status.id) as photos, count(*) filter (where status.state = 'delivered') as delivered,
    count(*) filter (where status.state = 'failed') as failed,
    (select count(*) from events.participant where participant.event_id = event.id) as participants,
    count(distinct person.user_id) filter (where status.state <> 'failed') as active_participants,
    max(photo.added_at) as last_photo_at
from events.event
left join events.photo on photo.event_id = event.id
left join media.photo_status as status on status.id = photo.photo
left join events.participant as person on person.event_id = event.id and person.user_id = photo.user_id
group by event.id;
comment on view events.event_figures is 'The figures of each event: photos, participants, how many of them take part';
comment on column events.event_figures.id is 'the event''s id';
comment on column events.event_figures.host is 'its creator';
comment on column events.event_figures.photos is 'number of all photos, with those of participants who have left';
comment on column events.event_figures.delivered is 'number of photos in the store';
comment on column events.event_figures.failed is 'number of photos that can''t be compressed';
comment on column events.event_figures.participants is 'number of participants';
comment on column events.event_figures.active_participants is
    'number of participants with a photo that has not failed';
comment on column events.event_figures.last_photo_at is 'when the newest photo was added';
