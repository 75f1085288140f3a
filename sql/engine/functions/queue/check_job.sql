-- check_job: raises an error for a job that could not be stored or run, with the expected and the given value.
--
-- Raises ER422 for a wrong kind, queue, priority, number of attempts or unique key, and for a payload with more than 64
-- objects and arrays within each other. Raises ER413 for a payload over 256 KB as text.
create or replace function errand_internal.check_job(
    kind text, payload jsonb, queue text, priority int, max_attempts int, unique_key text,
    context text default 'enqueue'
) returns void
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    -- As text: workers receive it so.
    bytes bigint := case
        when pg_column_size(payload) > 2000 then errand_internal.payload_bytes(payload, 262144)
            else octet_length(payload::text)
    end;
begin
    -- Not {0,99}: matching that takes 3 us.
    if (length(kind) <= 100 and kind ~ '^[a-z][a-z0-9_.-]*$') is not true then
        raise exception '%: kind: expected a-z, then up to 99 of a-z 0-9 _ . -, got %',
            context, coalesce(quote_literal(left(kind, 120)), 'null') using errcode = 'ER422';
    elsif (length(queue) <= 100 and queue ~ '^[a-z][a-z0-9_.-]*$') is false then
        raise exception '%: queue: expected a-z, then up to 99 of a-z 0-9 _ . -, got %',
            context, quote_literal(left(queue, 120)) using errcode = 'ER422';
    elsif payload is null then
        raise exception '%: payload: expected JSON, got null', context
            using errcode = 'ER422', hint = 'A job without a payload has ''{}''.';
    -- Decoders and functions call themselves for each level. 65 levels have 130 brackets at least.
    elsif (bytes < 130) is not true
        and jsonb_path_exists(payload, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")')
    then
        raise exception '%: payload: expected at most 64 objects and arrays within each other, got more', context
            using errcode = 'ER422', hint = 'Store the data and put its key into the payload.';
    elsif coalesce(bytes, 262145) > 262144 then
        raise exception '%: payload: expected at most 262144 bytes as text, got %', context,
            coalesce(bytes::text, 'more')
            using errcode = 'ER413', hint = 'Store the data and put its key into the payload.';
    elsif priority not between 1 and 4 then
        raise exception '%: priority: expected 1 (first) to 4 (last), got %', context, priority using errcode = 'ER422';
    elsif max_attempts not between 1 and 1000 then
        raise exception '%: max_attempts: expected 1 to 1000, got %', context, max_attempts using errcode = 'ER422';
    elsif length(unique_key) not between 1 and 500 then
        raise exception '%: unique_key: expected 1 to 500 characters, got %', context, length(unique_key)
            using errcode = 'ER422';
    end if;
end
$$;
