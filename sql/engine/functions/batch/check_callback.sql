-- check_callback: raises an error for a callback of errand.batch_open that could not be enqueued: ER422, ER413 and
-- ER404 as errand_internal.check_element does. Null is no callback.
create or replace function errand_internal.check_callback(argument text, callback jsonb) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    allowed constant text[] :=
        '{kind,payload,queue,priority,max_attempts,limit_key,rate_key,tags,subject,options,kind_defaults}';
    context constant text := 'batch_open: ' || argument;
    asked record;
begin
    if callback is null or callback = 'null' then
        return;
    elsif jsonb_typeof(callback) <> 'object' then
        raise exception '%: expected an object, got %', context, jsonb_typeof(callback) using errcode = 'ER422';
    elsif callback - allowed <> '{}' then
        raise exception '%: expected %, got %', context, array_to_string(allowed, ', '),
            (select quote_literal(left(min(name), 120)) from jsonb_object_keys(callback - allowed) as name)
            using errcode = 'ER422';
    end if;
    begin
        select * into asked
        from jsonb_to_record(callback) as job(
            kind text, payload jsonb, queue text, priority int, max_attempts int, limit_key text, rate_key text,
            tags text[], subject text, options jsonb, kind_defaults jsonb);
    exception
        when data_exception then
            raise exception '%: expected numbers as priority and max_attempts and an array of words as tags, got '
                'something else', context using errcode = 'ER422';
    end;
    perform errand_internal.check_element(
        asked.kind, asked.payload, asked.queue, null, asked.priority, asked.max_attempts, null, null, null,
        asked.limit_key, null, asked.tags, asked.subject, asked.options, asked.rate_key, context);
    perform errand_internal.kind_defaults(asked.kind, asked.kind_defaults, context);
    -- The batch is added to it.
    if octet_length(asked.payload::text) > 229376 then
        raise exception '%: payload: expected at most 229376 bytes as text, got %', context,
            octet_length(asked.payload::text)
            using errcode = 'ER413', hint = 'Store the data and put its key into the payload.';
    end if;
end
$$;
