-- tell: sends an event to the Socket.IO room of an event at commit, so that open apps fetch what has changed. It has
-- ids only.
create or replace function events.tell(event_id uuid, what text, photo uuid default null, code uuid default null)
returns void
language sql set search_path = pg_catalog, events, pg_temp as $$
    select rooms.emit(
        'event:' || tell.event_id, tell.what,
        jsonb_strip_nulls(jsonb_build_object('event_id', tell.event_id, 'photo_id', tell.photo, 'code_id', tell.code)))
$$;
