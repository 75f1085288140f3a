-- event_status: events that were not purged, with their figures.
create or replace view events.event_status as
select
    event.id, event.title, event.host,
    case
        when clock_timestamp() < event.starts_at then 'planned'
        when clock_timestamp() < event.ends_at then 'live'
        else 'ended'
    end as state,
    event.starts_at, event.ends_at,
    case rule.kept_from
        when 'end' then event.ends_at + interval '192 hours'
        else greatest(event.ends_at, event.starts_at + interval '192 hours')
    end as purge_at,
    (select count(*) from events.participant where event_id = event.id) as participants,
    (select count(*) from events.photo where event_id = event.id) as photos,
    (select count(distinct user_id) from events.photo where event_id = event.id) as photographers,
    event.photos_each, event.photos_in_all, event.created_at
from events.event
cross join events.rule;
comment on view events.event_status is 'Events that were not purged, with their figures';
comment on column events.event_status.id is 'names the event';
comment on column events.event_status.title is 'what it is called';
comment on column events.event_status.host is 'who made it';
comment on column events.event_status.state is 'planned, live or ended';
comment on column events.event_status.starts_at is 'from when on photos are taken';
comment on column events.event_status.ends_at is 'until when';
comment on column events.event_status.purge_at is 'when all of it is deleted';
comment on column events.event_status.participants is 'people in it';
comment on column events.event_status.photos is 'photos in it';
comment on column events.event_status.photographers is 'people who have a photo in it';
comment on column events.event_status.photos_each is 'photos that a participant may have in it';
comment on column events.event_status.photos_in_all is 'photos that all together may have in it';
comment on column events.event_status.created_at is 'when it was made';
