-- remove_pair: removes all moments of a pair, of both users, with rows and objects. Returns their number.
create or replace function moments.remove_pair(pair uuid, reason text) returns int
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
declare
    removed int;
begin
    -- Also if no moment was sent: one may be in a transaction that has not committed yet.
    insert into moments.pair as existing (pair_id) values (remove_pair.pair)
    on conflict on constraint pair_pkey do update set changed_at = clock_timestamp();
    select count(media.remove(existing.id, remove_pair.reason)) into removed
    from (select id from moments.moment where pair_id = remove_pair.pair order by id) as existing;
    return removed;
end
$$;
