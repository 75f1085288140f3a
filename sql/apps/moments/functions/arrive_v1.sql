-- arrive_v1: makes a stored moment its sender's current one, and removes the older ones, after the transaction that
-- stored it could not: another one was changing the pair's moments.
--
-- Returns current; replaced, if it was removed for a newer one; waiting, if it is not stored; gone. Idempotent.
create or replace function moments.arrive_v1(moment uuid) returns text
language plpgsql security definer set search_path = pg_catalog, moments, pg_temp as $$
#variable_conflict use_column
begin
    perform from moments.pair
    where pair_id = (select existing.pair_id from moments.moment as existing where existing.id = $1)
    for no key update;
    if not exists (select from moments.moment as existing where existing.id = $1) then
        return 'gone';
    elsif not exists (select from media.photo_status as existing where existing.id = $1
        and existing.state = 'delivered') then
        return 'waiting';
    end if;
    return moments.make_current($1, may_wait => true);
end
$$;
