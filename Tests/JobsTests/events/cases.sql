-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hijack
select events.create('anna', 'a');
select events.join(id, 'ben') from events.event_status;
select events.add_photo(id, 'anna', 'events/' || id || '/1.jpg') from events.event_status;
select events.delete_photo(photo, 'anna') from events.event_photo_status;
select events.leave(id, 'anna', true) from events.event_status;

-- case: attack
select events.create('anna', $1);

-- case: hidden
events.code_status: link key;
events.event_figures: host;
events.event_photo_status: user_id source_key error;
events.event_status: title host;

-- case: first
event_purge;

-- case: person
select events.create('user-4711', 'Zoe''s party');

-- case: crowd
with made as materialized (
    select part, events.create(id, 'Party') as event from public.crowd where id = host
)
select
    events.join(event, id),
    events.add_photo(event, id, 'events/' || event || '/' || number || '.jpg')
from public.crowd
join made using (part);

-- case: start
select events.create('anna', 'Summer', reveal_at => now() + interval '1 h');
select events.join(id, guest) from events.event, unnest('{ben,carl}'::text[]) as guest;

-- case: step
select media.submit_upload('events/' || id || '/' || :'key', :image, 'image/png', :'user'),
    events.add_photo(id, :'user', 'events/' || id || '/' || :'key')
from events.event;

-- case: step
select media.submit_upload('events/' || id || '/' || :'key', :image, 'image/png', :'user'),
    events.add_photo(id, :'user', 'events/' || id || '/' || :'key')
from events.event;

-- case: step
select events.delete_photo(photo, :'user') from events.photo order by added_at limit 1;

-- case: step
select events.join(id, :'user') from events.event;

-- case: step
select events.leave(id, :'user', :flag) from events.event;

-- case: step
select events.exclude(id, :'user', :'other', :flag) from events.event;

-- case: step
select events.edit(id, host, reveal_at => now()) from events.event;

-- case: step
select events.edit(id, host, without_reveal => true) from events.event;

-- case: step
select events.end_now(id, :'user') from events.event;

-- case: step
select events.archive(id, :'user') from events.event;

-- case: step
select events.delete(id, :'user') from events.event;

-- case: step
select events.create(:'user', 'Party', reveal_at => now() + interval '1 h')
where not exists (select from events.event);

-- case: objects
select key from events.archive where made_at is not null;

-- case: promised
select key from events.archive where made_at is not null;

-- case: truth event_reveal by event_id
exists (
    select
    from events.event
    join events.participant as person on person.event_id = event.id
    where event.id::text = data ->> 'event_id' and person.user_id = said.user_id and reveal_at <= now());

-- case: later
event_reveal;

-- Ben is in Anna's event, which reveals its photos later.
-- case: enter event
select events.create(:'anna', 'Party', reveal_at => now() + interval '1 hour')::text;

-- case: enter
select events.join(:'event'::uuid, :'ben');

-- case: own
select media.submit_upload('events/' || :'event' || '/own.png', :image, 'image/png', :'anna');
select events.add_photo(:'event'::uuid, :'anna', 'events/' || :'event' || '/own.png');

-- case: disturbance purge, removes data
update events.event
set starts_at = starts_at - interval '17 days', ends_at = ends_at - interval '17 days'
where id = :'event'::uuid;
select events.purge_due_v1();
select media.enqueue_removals_v1();

-- case: disturbance reveal moved
select events.edit(:'event'::uuid, :'anna', reveal_at => now() + interval '2 hours');

-- case: disturbance reveal taken back
select events.edit(:'event'::uuid, :'anna', without_reveal => true);

-- case: disturbance leave
select events.leave(:'event'::uuid, :'ben', true);

-- case: disturbance exclude
select events.exclude(:'event'::uuid, :'anna', :'ben', true);

-- case: left
select 'photo of no event: ' || source_key
from media.photo
where starts_with(source_key, 'events/') and id not in (select photo from events.photo);
select 'archive not made: ' || key
from events.archive
join events.event on event.id = event_id
-- One of photos that are hidden again is made after the reveal.
where made_at is null and (reveal_at > now()) is not true;
select 'code ' || state || ': ' || key from events.code_status where state <> 'stored';
select 'nobody told of the reveal: ' || id
from events.event
where revealed_at is null and reveal_at is not null and not exists (
    select from errand.job where unique_key = 'event_reveal/' || event.id);
