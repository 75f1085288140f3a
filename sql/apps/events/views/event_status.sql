-- event_status: the events that were not purged, with their numbers.
-- errand: for enqueuer, ops, monitor
-- errand: hides title, host
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
        when 'end' then event.ends_at + event.kept_days * interval '24 hours'
        else greatest(event.ends_at, event.starts_at + event.kept_days * interval '24 hours')
    end as purge_at,
    (select count(*) from events.participant where event_id = event.id) as participants,
    (select count(*) from events.photo where event_id = event.id) as photos,
    (select count(distinct user_id) from events.photo where event_id = event.id) as photographers,
    event.photos_each, event.photos_in_all, event.created_at, event.reveal_at,
    coalesce(event.reveal_at <= clock_timestamp(), true) as is_revealed, event.revealed_at,
    event.keep_original, event.qualities, event.max_edge, event.kept_days
from events.event
cross join events.rule;
comment on view events.event_status is 'The events that were not purged, with their numbers';
comment on column events.event_status.id is 'the event''s id';
comment on column events.event_status.title is 'its title';
comment on column events.event_status.host is 'its creator';
comment on column events.event_status.state is 'planned, live or ended';
comment on column events.event_status.starts_at is 'start of the time for photos';
comment on column events.event_status.ends_at is 'end of the time for photos';
comment on column events.event_status.purge_at is 'when it is purged';
comment on column events.event_status.participants is 'number of participants';
comment on column events.event_status.photos is 'number of photos';
comment on column events.event_status.photographers is 'number of people with a photo in it';
comment on column events.event_status.photos_each is 'photos that a participant may have in it';
comment on column events.event_status.photos_in_all is 'photos that it may have';
comment on column events.event_status.created_at is 'when it was created';
comment on column events.event_status.reveal_at is 'when participants see the photos of others; null = at once';
comment on column events.event_status.is_revealed is 'whether participants see the photos of others now';
comment on column events.event_status.revealed_at is 'when the participants were told of the reveal';
comment on column events.event_status.keep_original is
    'whether the original of a photo that is added stays until the photo or the event goes';
comment on column events.event_status.qualities is 'encoder qualities to choose from for a photo that is added';
comment on column events.event_status.max_edge is 'most pixels on the longer side of a photo that is added';
comment on column events.event_status.kept_days is 'days of 24 hours from its end, or start, to its purge';
