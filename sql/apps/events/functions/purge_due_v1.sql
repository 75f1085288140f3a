-- purge_due_v1: purges one event that is due, as events.purge_event does.
--
-- kept_from says from when the 8 days count: end, or start, but never before the end. Returns the receipt and the
-- numbers of people and photos; no row if no event is due. An event to which another session writes is left for the
-- next call; several calls at once get an event each. Raises ER422 for another word.
create or replace function events.purge_due_v1(kept_from text) returns table (receipt bigint, people int, photos int)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
declare
    kept constant interval := interval '192 hours';
    held uuid;
begin
    if $1 is null or $1 not in ('end', 'start') then
        raise exception 'purge_due_v1: kept_from: expected end or start, got %', quote_nullable(left($1, 100))
            using errcode = 'ER422';
    end if;
    if not exists (select from events.rule where rule.kept_from = $1) then
        insert into events.rule as told (kept_from) values ($1)
        on conflict on constraint rule_pkey do update set kept_from = excluded.kept_from, told_at = clock_timestamp();
    end if;
    select id into held
    from events.event
    where ends_at <= now() - case $1 when 'end' then kept else interval '0' end
        and ($1 = 'end' or starts_at <= now() - kept)
    order by ends_at, id
    limit 1
    for update skip locked;
    if found then
        return query select * from events.purge_event(held, 'event_purge', 'its event is over');
    end if;
end
$$;
comment on function events.purge_due_v1(text) is
    'For the job event_purge: deletes the rows of one event that is due, and lists its objects for removal';
