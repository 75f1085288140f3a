-- emit: sends an event to a Socket.IO room, when the transaction commits.
--
--   select rooms.emit(rooms.user_room('user-17'), 'new_moment', '{"moment_id": "7"}');
--
-- Each connected client in the room gets it once. Servers that use @socket.io/postgres-adapter deliver it. Nothing is
-- stored: a client that is offline, or whose server reconnects, misses it. In a transaction with errand.notify
-- = off all clients do. data is the event's only argument; with null it has none.
--
-- Every login of the database can listen to the channel and send to it, so data has ids only.
--
-- A message of up to 7,999 bytes is sent by NOTIFY alone; a larger one goes into the adapter's table, and may arrive
-- after events that were sent later. Raises ER422 for an empty room, a reserved name, and other arguments out of
-- bounds; ER413 for a message over 7,999 bytes without that table, and for one over 1,000,000 bytes; ER409 and 42501 if
-- the table can't be used.
-- errand: for enqueuer, ops
create or replace function rooms.emit(room text, event text, data jsonb default '{}', namespace text default '/')
returns void
language plpgsql security definer set search_path = pg_catalog, rooms, pg_temp as $$
#variable_conflict use_variable
declare
    channel constant text := (select channel_prefix from rooms.setting) || '#' || namespace;
    message text;
begin
    -- Without a room, everyone in the namespace would get it.
    if coalesce(length(room), 0) not between 1 and 300 then
        raise exception 'emit: room: expected 1 to 300 characters, got %', coalesce(length(room)::text, 'null')
            using errcode = 'ER422';
    elsif coalesce(length(event), 0) not between 1 and 200 then
        raise exception 'emit: event: expected 1 to 200 characters, got %', coalesce(length(event)::text, 'null')
            using errcode = 'ER422';
    elsif event in ('connect', 'connect_error', 'disconnect', 'disconnecting', 'newListener', 'removeListener') then
        raise exception 'emit: event: expected a name of your own, got %, which Socket.IO reserves', event
            using errcode = 'ER422';
    elsif namespace is null or namespace not like '/%' then
        raise exception 'emit: namespace: expected a name that begins with /, got %',
            quote_nullable(left(namespace, 100)) using errcode = 'ER422';
    elsif octet_length(channel) > 63 then
        raise exception 'emit: namespace: expected at most 63 bytes with the prefix of the channel, got %',
            octet_length(channel) using errcode = 'ER422';
    end if;
    -- The servers ignore the id. Without it, PostgreSQL would send two equal messages of a transaction once.
    message := format(
        '{"uid":"emitter","nsp":%1$s,"type":3,"id":"%2$s","data":{"packet":{"type":2,"data":[%3$s],"nsp":%1$s},'
        '"opts":{"rooms":[%4$s],"except":[],"flags":{}}}}',
        to_json(namespace), gen_random_uuid(), concat_ws(',', to_json(event), data), to_json(room));
    if octet_length(message) > 1000000 then
        raise exception 'emit: expected at most 1000000 bytes, got %', octet_length(message)
            using errcode = 'ER413', hint = 'Send ids, and let the client fetch the rest.';
    elsif octet_length(message) > 7999 then
        message := format(
            '{"uid":"emitter","type":3,"attachmentId":"%s"}',
            rooms.attach(rooms.msgpack(message::jsonb), octet_length(message)));
    end if;
    perform errand_internal.notify(channel, message);
end
$$;
