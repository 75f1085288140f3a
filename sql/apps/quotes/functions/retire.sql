-- retire: removes a quote from the rotation, from the first day on that has not begun anywhere on Earth.
--
--   select quotes.retire(17, 'it is not by Voltaire');
--
-- If its day was still to come, the last quote of the cycle takes that day, and no other day changes. Only in the last
-- days of a cycle, when the next one is stored already, the days of that one move forward by one. The room `quotes` is
-- told. The call is idempotent. Raises ER404 for an unknown quote, ER409 for the last quote, ER422 without a reason;
-- above READ COMMITTED, 40001 if another quote was retired since the transaction's snapshot.
-- errand: for ops
create or replace function quotes.retire(id int, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    today constant date := (now() at time zone 'UTC')::date;
    -- The day at UTC+14.
    latest_today constant date := (now() at time zone 'UTC' + interval '14 hours')::date;
    cycle quotes.cycle;
    index int;
    size int;
begin
    perform errand_internal.check_reason('retire', retire.reason);
    perform quotes.rotate_v1(today);
    -- A snapshot older than another quote's retirement would still count that one: then this raises 40001.
    perform from quotes.quote as existing where retired_at is null for no key update;
    if not exists (select from quotes.quote as existing where existing.id = retire.id) then
        raise exception 'retire: there is no quote %', retire.id using errcode = 'ER404';
    elsif not exists (select from quotes.quote as existing where existing.id <> retire.id and retired_at is null) then
        raise exception 'retire: % is the last quote', retire.id using errcode = 'ER409',
            hint = 'Add another one first.';
    end if;
    update quotes.quote as existing
    set retired_at = coalesce(retired_at, now())
    where existing.id = retire.id;
    for cycle in
        select * from quotes.cycle as existing
        where retire.id = any (existing.quote_ids)
            and existing.first_day + array_position(existing.quote_ids, retire.id) - 1 > latest_today
        order by number desc
    loop
        index := array_position(cycle.quote_ids, retire.id);
        size := cardinality(cycle.quote_ids);
        if size = 1 then
            delete from quotes.cycle as existing where existing.number = cycle.number;
        elsif exists (select from quotes.cycle as later where later.number > cycle.number) then
            update quotes.cycle as existing
            set quote_ids = array_remove(quote_ids, retire.id)
            where existing.number = cycle.number;
        else
            cycle.quote_ids[index] := cycle.quote_ids[size];
            update quotes.cycle as existing
            set quote_ids = cycle.quote_ids[1:size - 1]
            where existing.number = cycle.number;
        end if;
        update quotes.cycle as later
        set first_day = first_day - 1
        where later.number > cycle.number;
    end loop;
    delete from quotes.day as written where written.day > latest_today;
    perform quotes.write_days(today);
    perform quotes.tell('retired', retire.id);
    perform errand_internal.record_action('quote_retire', jsonb_build_object('quote', retire.id), retire.reason);
end
$$;
