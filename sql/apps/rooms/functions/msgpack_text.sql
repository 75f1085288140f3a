-- msgpack_text: returns a text as MessagePack: its size in bytes, and its UTF-8.
create or replace function rooms.msgpack_text(string text) returns bytea
language plpgsql immutable strict set search_path = pg_catalog, rooms, pg_temp as $$
declare
    bytes constant bytea := convert_to(string, 'UTF8');
    size constant int := octet_length(bytes);
begin
    if size between 32 and 255 then
        return E'\\xd9' || rooms.big_endian(size, 1) || bytes;
    end if;
    return rooms.msgpack_size(size, 31, E'\\xa0', E'\\xda') || bytes;
end
$$;
