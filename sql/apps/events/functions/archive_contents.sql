-- archive_contents: returns a digest of the photos that an archive of the event has now: those that are delivered. Null
-- if there are none. An archive with another digest is out of date.
create or replace function events.archive_contents(event_id uuid) returns text
language plpgsql stable set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
begin
    return (
        select md5(string_agg(existing.photo::text, ' ' order by existing.photo))
        from events.photo as existing
        join media.photo_status as status on status.id = existing.photo
        where existing.event_id = $1 and status.state = 'delivered');
end
$$;
