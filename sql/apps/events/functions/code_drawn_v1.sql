-- code_drawn_v1: takes the image of a QR code, and enqueues the job that stores it, in the transaction that completes
-- the drawing. Returns false if the event is gone or the code has an image already: then nothing is done.
create or replace function events.code_drawn_v1(code uuid, image bytea) returns boolean
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
declare
    existing events.code;
begin
    -- The event first: a purge that runs would not see the upload. It ends before this goes on, or begins after it.
    perform
    from events.event
    where id = (select target.event_id from events.code as target where target.id = code_drawn_v1.code)
    for key share;
    update events.code as target
    set drawn_at = clock_timestamp(), bytes = length(code_drawn_v1.image), error = null
    where target.id = code_drawn_v1.code and target.drawn_at is null
    returning * into existing;
    if not found then
        return false;
    end if;
    perform media.stage(null, existing.key, 'image/png', null, code_drawn_v1.image);
    return true;
end
$$;
