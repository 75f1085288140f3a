-- msgpack_size: returns the head of a MessagePack value with a size: one byte up to short_limit, which is added to
-- short_form; otherwise long_form and two bytes, or the form after it and four bytes.
create or replace function rooms.msgpack_size(size bigint, short_limit int, short_form bytea, long_form bytea)
returns bytea
language plpgsql immutable strict set search_path = pg_catalog, rooms, pg_temp as $$
begin
    return case
        when size <= short_limit then set_byte(short_form, 0, get_byte(short_form, 0) + size::int)
        when size <= 65535 then long_form || rooms.big_endian(size, 2)
        else set_byte(long_form, 0, get_byte(long_form, 0) + 1) || rooms.big_endian(size, 4)
    end;
end
$$;
