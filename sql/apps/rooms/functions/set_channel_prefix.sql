-- set_channel_prefix: sets the prefix of the channels, which is the adapter's option channelPrefix.
--
--   select rooms.set_channel_prefix('chat', 'the servers share this database with others');
--
-- The default is socket.io. Raises ER422 for a prefix that is not 1 to 61 bytes long, or without a reason.
-- errand: for ops
create or replace function rooms.set_channel_prefix(prefix text, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, rooms, pg_temp as $$
begin
    perform errand_internal.check_reason('set_channel_prefix', reason);
    if coalesce(octet_length(prefix), 0) not between 1 and 61 then
        raise exception 'set_channel_prefix: prefix: expected 1 to 61 bytes, got %',
            coalesce(octet_length(prefix)::text, 'null') using errcode = 'ER422';
    end if;
    update rooms.setting set channel_prefix = prefix;
    perform errand_internal.record_action('rooms.set_channel_prefix', jsonb_build_object('prefix', prefix), reason);
end
$$;
