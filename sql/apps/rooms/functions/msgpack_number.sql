-- msgpack_number: returns a number of a JSON document as MessagePack: an integer in its shortest form, or a double.
--
-- A number beyond the doubles becomes infinite, and one below them 0, as JSON.parse has it.
create or replace function rooms.msgpack_number(number numeric) returns bytea
language plpgsql immutable strict set search_path = pg_catalog, rooms, pg_temp as $$
begin
    return case
        when abs(number) > 1.7976931348623157e308 then
            E'\\xcb'::bytea || float8send(case when number > 0 then float8 'Infinity' else '-Infinity' end)
        when abs(number) < 4.94e-324 then E'\\x00'
        when number <> trunc(number) or number not between -9223372036854775808 and 18446744073709551615 then
            E'\\xcb' || float8send(number::float8)
        when number between 0 and 127 then rooms.big_endian(number::bigint, 1)
        when number between -32 and -1 then rooms.big_endian(256 + number::bigint, 1)
        when number between 0 and 255 then E'\\xcc' || rooms.big_endian(number::bigint, 1)
        when number between 0 and 65535 then E'\\xcd' || rooms.big_endian(number::bigint, 2)
        when number between 0 and 4294967295 then E'\\xce' || rooms.big_endian(number::bigint, 4)
        when number > 9223372036854775807 then
            E'\\xcf' || rooms.big_endian((number - 18446744073709551616)::bigint, 8)
        when number >= 0 then E'\\xcf' || rooms.big_endian(number::bigint, 8)
        when number >= -128 then E'\\xd0' || rooms.big_endian(number::bigint, 1)
        when number >= -32768 then E'\\xd1' || rooms.big_endian(number::bigint, 2)
        when number >= -2147483648 then E'\\xd2' || rooms.big_endian(number::bigint, 4)
        else E'\\xd3' || rooms.big_endian(number::bigint, 8)
    end;
end
$$;
