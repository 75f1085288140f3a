-- make_current: makes a stored moment its sender's current one, removes all older ones of the sender, and tells the
-- receiver once. The caller has locked the pair's row in moments.pair.
--
-- Returns current; replaced, if a newer one of the sender is current or the pair has ended: then the moment is removed;
-- gone, if there is no such moment. The order of locks is pair, photos, uploads. A caller that has locked an upload
-- sets may_wait to false: then nothing is waited for, the moment itself is not removed, and later says that something
-- is left to do.
create or replace function moments.make_current(moment uuid, may_wait boolean) returns text
language plpgsql set search_path = pg_catalog, moments, pg_temp as $$
#variable_conflict use_column
declare
    held moments.moment;
    older uuid[];
    keys text[];
    is_free boolean;
begin
    select * into held from moments.moment as known where known.id = $1;
    if not found then
        return 'gone';
    end if;
    update moments.pair set changed_at = clock_timestamp() where pair_id = held.pair_id;
    if exists (
            select from moments.moment as known
            where known.pair_id = held.pair_id and known.sender = held.sender and known.number > held.number
                and known.current_at is not null)
        or exists (select from pairing.pair as known where known.id = held.pair_id and known.ended_at is not null)
    then
        if not may_wait then
            return 'later';
        end if;
        perform media.remove(held.id, 'a newer moment has replaced it');
        return 'replaced';
    end if;
    older := array(
        select known.id from moments.moment as known
        where known.pair_id = held.pair_id and known.sender = held.sender and known.number < held.number
        order by known.id);
    keys := array(select source_key from media.photo as known where known.id = any (older));
    -- All that media.remove locks: photos of the same originals, and their uploads.
    is_free := may_wait
        or older = array(
            select known.id from media.photo as known where known.source_key = any (keys) order by known.id
            for update skip locked)
        and (select count(*) from media.upload as known where known.photo = any (older) or known.key = any (keys)) = (
            select count(*)
            from (
                select from media.upload as known where known.photo = any (older) or known.key = any (keys)
                for update skip locked
            ) as free);
    if is_free then
        perform media.remove(id, 'a newer moment has replaced it') from unnest(older) as id;
    end if;
    if held.current_at is null then
        update moments.moment as known set current_at = clock_timestamp() where known.id = held.id;
        perform moments.announce(held.pair_id, held.id, held.sender);
    end if;
    return case when is_free then 'current' else 'later' end;
end
$$;
