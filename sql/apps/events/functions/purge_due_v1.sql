-- purge_due_v1: purges one event that is due, as events.purge_event does.
--
-- kept_from says from when the days of an event count: end, or start, but never before the end. Returns the receipt and
-- the numbers of people and photos; no row if no event is due. An event to which another session writes is left for the
-- next call; several calls at once get an event each. Raises ER422 for another word.
create or replace function events.purge_due_v1(kept_from text) returns table (receipt bigint, people int, photos int)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
declare
    existing uuid;
begin
    if $1 is null or $1 not in ('end', 'start') then
        raise exception 'purge_due_v1: kept_from: expected end or start, got %', quote_nullable(left($1, 100))
            using errcode = 'ER422';
    end if;
    if not exists (select from events.rule where rule.kept_from = $1) then
        insert into events.rule as told (kept_from) values ($1)
        on conflict on constraint rule_pkey do update set kept_from = excluded.kept_from, told_at = clock_timestamp();
    end if;
    -- By the two indexes: the expressions are theirs.
    if $1 = 'end' then
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
