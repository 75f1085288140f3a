-- check_data: returns the data of a notification with texts as values: numbers and booleans become texts.
--
-- Raises ER422 if data is no object, for a value that is nested or null, and for a name that Apple or Google keep for
-- themselves: aps, from, gcm, message_type, collapse_key, google….
create or replace function notify.check_data(context text, data jsonb) returns jsonb
language plpgsql immutable set search_path = pg_catalog, notify, pg_temp as $$
declare
    wrong record;
begin
    if jsonb_typeof(data) is distinct from 'object' then
        raise exception '%: data: expected an object, got %', context, coalesce(jsonb_typeof(data), 'null')
            using errcode = 'ER422';
    end if;
    select key, jsonb_typeof(value) as type into wrong
    from jsonb_each(data)
    where jsonb_typeof(value) not in ('string', 'number', 'boolean')
    order by key
    limit 1;
    if found then
        raise exception '%: data: expected texts, numbers and booleans as values, got % at %',
            context, wrong.type, quote_literal(left(wrong.key, 100))
            using errcode = 'ER422', hint = 'Phones get texts only: write the value as a text.';
    end if;
    select key into wrong
    from jsonb_object_keys(data) as key
    where key in ('', 'aps', 'from', 'gcm', 'message_type', 'collapse_key') or starts_with(key, 'google')
    order by key
    limit 1;
    if found then
        raise exception
            '%: data: expected names other than aps, from, gcm, message_type, collapse_key and google…, got %',
            context, quote_literal(left(wrong.key, 100)) using errcode = 'ER422';
    end if;
    return (select coalesce(jsonb_object_agg(key, value), '{}') from jsonb_each_text(data));
end
$$;
