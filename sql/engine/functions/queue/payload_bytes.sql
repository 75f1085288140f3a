-- payload_bytes: returns the size of a payload as JSON text, as workers receive it. Null if its numbers alone take more
-- than `most` bytes, or if it can't be written as text.
--
-- A number of 12 bytes such as 1e131071 has 131,072 digits as text, and 9,000 of them fill 1.2 GB, while the row takes
-- 2.5 KB in the table. So long numbers are added up first, and too many of them are found in milliseconds.
create or replace function errand_internal.payload_bytes(payload jsonb, most bigint) returns bigint
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    number jsonb;
    bytes bigint := 0;
begin
    for number in
        select value
        from jsonb_path_query(
            payload,
            'strict $.** ? (@ > 1e300 || @ < -1e300 || @ > 0 && @ < 1e-300 || @ < 0 && @ > -1e-300)') as value
    loop
        bytes := bytes + octet_length(number::text);
        if bytes > most then
            return null;
        end if;
    end loop;
    return octet_length(payload::text);
exception
    when others then
        return null;
end
$$;
