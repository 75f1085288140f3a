-- code: returns the key of a QR code of a link to an event, an image in the object store, and enqueues the job that
-- draws it if nobody has asked for it before.
--
--   select status, key from events.code('6c1d…', 'https://example.com/join/6c1d…');
--
-- The image is a PNG of 1024 x 1024 pixels. status is one of
--   drawing    the image comes within seconds
--   stored     the object key is in the store
--   failed     error says why; the same call tries it again
--   no_event   there is none, or it was purged; key is null
-- The same link returns the same key, another link another one. The images go with the event.
--
-- link is a URL of 1 to 1,000 characters, and at most 2,000 bytes of UTF-8: http, https or with the scheme of an app.
-- Raises ER422 for another one; above READ COMMITTED, 40001 if the event was purged, or its code was asked for, since
-- the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function events.code(event_id uuid, link text) returns table (status text, key text, error text)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    made constant uuid := gen_random_uuid();
    existing events.code;
begin
    perform events.check_link('code', $2);
    -- Waits for a running purge, and then finds no event.
    perform from events.event where id = $1 for key share;
    if not found then
        return query select 'no_event', null::text, null::text;
        return;
    end if;
    insert into events.code (id, event_id, link, key)
    values (made, $1, $2, format('events/%s/codes/%s.png', $1, made))
    on conflict on constraint code_once do nothing;
    select * into strict existing from events.code as target where (target.event_id, target.link) = ($1, $2);
    if existing.drawn_at is null then
        -- The unique key returns a job that waits or runs. One that failed, or was cancelled, is followed by another.
        select job_id into existing.job_id
        from errand.enqueue(
            'event_code', jsonb_build_object('code', existing.id), unique_key => 'event_code/' || existing.id);
        update events.code as target
        set job_id = existing.job_id, error = null
        where target.id = existing.id
            and (target.job_id is distinct from existing.job_id or target.error is not null)
                and target.drawn_at is null;
    end if;
    return query select shown.state, shown.key, shown.error
    from events.code_status as shown
    where shown.id = existing.id;
end
$$;
