-- msgpack: returns a JSON document as MessagePack, as the adapter decodes it.
--
-- Raises ER422 for the key __proto__, which its decoder refuses.
create or replace function rooms.msgpack(document jsonb) returns bytea
language plpgsql immutable strict set search_path = pg_catalog, rooms, pg_temp as $$
begin
    case jsonb_typeof(document)
        when 'null' then
            return E'\\xc0';
        when 'boolean' then
            return case document when 'true' then E'\\xc3'::bytea else E'\\xc2' end;
        when 'number' then
            return rooms.msgpack_number(document::numeric);
        when 'string' then
            return rooms.msgpack_text(document #>> '{}');
        when 'array' then
            return (
                select rooms.msgpack_size(count(*), 15, E'\\x90', E'\\xdc')
                    || coalesce(string_agg(rooms.msgpack(element), '' order by ordinal), '')
                from jsonb_array_elements(document) with ordinality as item(element, ordinal)
            );
        when 'object' then
            if document ? '__proto__' then
                raise exception 'emit: data: expected no key __proto__ in a message over 7999 bytes, got one'
                    using errcode = 'ER422';
            end if;
            return (
                select rooms.msgpack_size(count(*), 15, E'\\x80', E'\\xde')
                    || coalesce(string_agg(rooms.msgpack_text(key) || rooms.msgpack(value), ''), '')
                from jsonb_each(document)
            );
    end case;
end
$$;
