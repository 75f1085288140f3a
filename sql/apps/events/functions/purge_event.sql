-- purge_event: deletes all rows of an event that the caller has locked for update, and lists its objects for removal in
-- the same transaction: its archive, originals and results of its photos, and all other objects below its folder.
--
-- The job of its reveal is cancelled, and pushes that wait are withdrawn. cause is the reason on the receipt, reason
-- that of its cancelled jobs. Returns the receipt and the numbers of people and photos. The caller enqueues the
-- removal.
create or replace function events.purge_event(event_id uuid, cause text, reason text)
returns table (receipt bigint, people int, photos int)
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    found_photos uuid[];
    ended bigint[];
    users text[];
begin
    select coalesce(array_agg(photo), '{}') into found_photos from events.photo where event_id = $1;
    photos := cardinality(found_photos);
    select count(*) into people
    from (
        select user_id from events.participant where event_id = $1
        union
        select user_id from events.photo where event_id = $1
    ) as person;
    insert into media.receipt (reason, people, photos)
    values ($2, purge_event.people, purge_event.photos)
    returning id into receipt;
    perform events.remove_archives(
        array(select id from events.archive where archive.event_id = $1), $3, receipt);
    ended := (media.remove_photos(found_photos, $3, receipt)).jobs;
    ended := ended || media.remove_folder('events/' || $1 || '/', $3, receipt);
    perform events.cancel_reveal($1, $3);
    users := array(select user_id from events.participant where event_id = $1 order by user_id);
    -- As many at once as notify.withdraw takes.
    perform notify.withdraw(users[first : first + 9999], 'event-' || $1)
    from generate_series(1, cardinality(users), 10000) as first;
    -- Who was there, and which photos there were, leave the queue with the event: its jobs have ended by now.
    perform errand_internal.blank_jobs(ended, $3);
    delete from events.event where id = $1;
    perform events.tell($1, 'deleted');
    return next;
end
$$;
