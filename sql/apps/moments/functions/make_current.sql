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
    existing moments.moment;
    older uuid[];
    keys text[];
    is_free boolean;
begin
    select * into existing from moments.moment as target where target.id = $1;
    if not found then
        return 'gone';
    end if;
    update moments.pair set changed_at = clock_timestamp() where pair_id = existing.pair_id;
    if exists (
            select from moments.moment as target
            where target.pair_id = existing.pair_id and target.sender = existing.sender
                and target.number > existing.number
                and target.current_at is not null)
        or exists (select from pairing.pair as target where target.id = existing.pair_id
            and target.ended_at is not null)
    then
        if not may_wait then
            return 'later';
        end if;
        perform media.remove(existing.id, 'a newer moment has replaced it');
        return 'replaced';
    end if;
    older := array(
        select target.id from moments.moment as target
        where target.pair_id = existing.pair_id and target.sender = existing.sender and target.number < existing.number
        order by target.id);
    keys := array(select source_key from media.photo as target where target.id = any (older));
    -- All that media.remove locks: photos of the same originals, and their uploads.
    is_free := may_wait
        or older = array(
            select target.id from media.photo as target where target.source_key = any (keys) order by target.id
            for update skip locked)
        and (select count(*) from media.upload as target where target.photo = any (older)
            or target.key = any (keys)) = (
            select count(*)
            from (
                select from media.upload as target where target.photo = any (older) or target.key = any (keys)
                for update skip locked
            ) as free);
    if is_free then
        perform media.remove(id, 'a newer moment has replaced it') from unnest(older) as id;
    end if;
    if existing.current_at is null then
        update moments.moment as target set current_at = clock_timestamp() where target.id = existing.id;
        perform moments.announce(existing.pair_id, existing.id, existing.sender);
    end if;
    return case when is_free then 'current' else 'later' end;
end
$$;
