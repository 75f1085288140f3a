-- check_options: raises ER422 for receivers, a title, a body, a collapse, a not_after or a key out of bounds.
create or replace function notify.check_options(
    context text, user_ids text[], title text, body text, collapse text, not_after timestamptz, once text
) returns void
language plpgsql volatile set search_path = pg_catalog, notify, pg_temp as $$
declare
    present constant timestamptz := clock_timestamp();
    wrong text;
begin
    if user_ids is null then
        raise exception '%: user_ids: expected an array, got null', context using errcode = 'ER422';
    elsif cardinality(user_ids) > 10000 then
        raise exception '%: user_ids: expected at most 10000, got %', context, cardinality(user_ids)
            using errcode = 'ER422', hint = 'Call it several times, in one transaction.';
    end if;
    select coalesce(length(id)::text, 'null') into wrong
    from unnest(user_ids) as id
    where (length(id) between 1 and 200) is not true
    limit 1;
    if found then
        raise exception '%: user_id: expected 1 to 200 characters, got %', context, wrong using errcode = 'ER422';
    elsif title = '' or body = '' then
        raise exception '%: title and body: expected a text or null, got an empty text', context
            using errcode = 'ER422', hint = 'Without title and body, the push wakes the app and shows nothing.';
    elsif (octet_length(collapse) <= 64 and collapse ~ '^[!-~]+$') is false then
        raise exception '%: collapse: expected 1 to 64 printable ASCII characters without blanks, got % bytes',
            context, octet_length(collapse) using errcode = 'ER422';
    elsif not_after <= present or not_after > present + interval '28 days' then
        raise exception '%: not_after: expected a time within 28 days, got %', context, not_after
            using errcode = 'ER422', hint = 'Google keeps no push for longer.';
    elsif length(once) not between 1 and 200 then
        raise exception '%: once: expected 1 to 200 characters, got %', context, length(once) using errcode = 'ER422';
    end if;
end
$$;
