-- check_page: raises ER422 if the size of a page is out of bounds.
create or replace function events.check_page(context text, most int) returns void
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
begin
    if most is null or most not between 1 and 1000 then
        raise exception '%: most: expected 1 to 1000, got %', context, coalesce(most::text, 'null')
            using errcode = 'ER422';
    end if;
end
$$;
