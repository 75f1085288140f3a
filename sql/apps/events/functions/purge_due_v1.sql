-- purge_due_v1: purges one event that is due, as events.purge_event does.
--
-- events.rule says from when its days count: its end, or its start, but never before the end. Returns the receipt and
-- the numbers of people and photos; no row if no event is due. An event to which another session writes is left for the
-- next call; several calls at once get an event each.
create or replace function events.purge_due_v1() returns table (receipt bigint, people int, photos int)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
declare
    existing uuid;
begin
    -- By the two indexes: the expressions are theirs.
    if (select kept_from = 'end' from events.rule) then
        select id into existing
        from events.event
        where (ends_at at time zone 'UTC') + kept_days * interval '1 day' <= now() at time zone 'UTC'
        order by (ends_at at time zone 'UTC') + kept_days * interval '1 day', id
        limit 1
        for update skip locked;
    else
        select id into existing
        from events.event
        where greatest(ends_at at time zone 'UTC', (starts_at at time zone 'UTC') + kept_days * interval '1 day')
            <= now() at time zone 'UTC'
        order by greatest(ends_at at time zone 'UTC', (starts_at at time zone 'UTC') + kept_days * interval '1 day'), id
        limit 1
        for update skip locked;
    end if;
    if existing is not null then
        return query select * from events.purge_event(existing, 'event_purge', 'its event is over');
    end if;
end
$$;
