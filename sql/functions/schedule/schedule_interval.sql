-- schedule_interval: the interval in `every 30 s`; null where the text doesn't begin with every.
--
-- Raises ER422 where what follows is no interval of at least a second, or one in months or years, which have no fixed length.
create or replace function errand.schedule_interval(fields text) returns interval
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    every interval;
begin
    if fields is null or fields !~* '^every ' then
        return null;
    end if;
    begin
        every := substr(fields, 7)::interval;
    exception when others then
        every := null;
    end;
    if every is null or every < interval '1 second' or extract(year from every) <> 0 or extract(month from every) <> 0 then
        raise exception 'schedule_put: cron: expected every and an interval of at least 1 s, without months, got %',
            quote_literal(left(fields, 120)) using errcode = 'ER422', hint = 'Such as: every 30 s';
    end if;
    return every;
end
$$;
comment on function errand.schedule_interval(text) is
    'The interval in ''every 30 s'', null for a cron expression; raises ER422 where it is none';
