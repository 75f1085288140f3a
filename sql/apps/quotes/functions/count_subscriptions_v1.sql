-- count_subscriptions_v1: counts the subscriptions of each time zone, once an hour. Returns whether it counted.
--
-- It reads the whole table, about a second for 5 million rows, and locks none of them. quotes.zone_status shows the
-- counts at once, however many rows there are.
create or replace function quotes.count_subscriptions_v1() returns boolean
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
begin
    if exists (select from quotes.zone_count where counted_at > now() - interval '1 hour') then
        return false;
    end if;
    begin
        lock table quotes.zone_count in share update exclusive mode nowait;
    exception when lock_not_available then
        return false;
    end;
    delete from quotes.zone_count;
    insert into quotes.zone_count (time_zone, subscribers, counted_at)
    select time_zone, count(*), now()
    from quotes.subscription
    where ended_at is null
    group by time_zone;
    return true;
end
$$;
