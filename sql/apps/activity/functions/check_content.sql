-- check_content: checks the content of an activity. APNs takes 4096 bytes in all.
--
-- Raises ER422 for a text or object out of bounds, ER413 for more than 3,500 bytes in all.
create or replace function activity.check_content(
    context text, sender text, message text, attributes jsonb, content_state jsonb
) returns void
language plpgsql immutable set search_path = pg_catalog, activity, pg_temp as $$
begin
    if coalesce(length(sender), 0) not between 1 and 200 then
        raise exception '%: sender: expected 1 to 200 characters, got %', context,
            coalesce(length(sender)::text, 'null')
            using errcode = 'ER422';
    elsif coalesce(length(message), 0) not between 1 and 1000 then
        raise exception '%: message: expected 1 to 1000 characters, got %', context,
            coalesce(length(message)::text, 'null')
            using errcode = 'ER422';
    elsif jsonb_typeof(attributes) <> 'object' or jsonb_typeof(content_state) <> 'object' then
        raise exception '%: expected objects as attributes and content_state, got % and %',
            context, jsonb_typeof(attributes), jsonb_typeof(content_state) using errcode = 'ER422';
    -- The alert repeats sender and message.
    elsif octet_length(attributes::text || content_state::text || sender || message) > 3500 then
        raise exception '%: expected at most 3500 bytes of content, got %', context,
            octet_length(attributes::text || content_state::text || sender || message)
            using errcode = 'ER413', hint = 'Apple takes 4096 in all: send a shorter preview.';
    end if;
end
$$;
