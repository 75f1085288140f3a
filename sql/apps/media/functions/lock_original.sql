-- lock_original: keeps an original from being removed by another transaction, until this one is committed.
--
-- What removes an original locks all of its photos and updates or deletes one. This call locks one: it waits for a
-- removal that is not committed, and the caller then sees it. The update does the same for a removal at REPEATABLE READ
-- that doesn't see what the caller inserts: it raises 40001. besides is a photo that the caller has just inserted.
create or replace function media.lock_original(key text, besides uuid default null) returns void
language plpgsql set search_path = pg_catalog, media, pg_temp as $$
declare
    existing uuid;
begin
    select id into existing
    from media.photo
    where source_key = lock_original.key and original_removed_at is null and id is distinct from besides
    limit 1
    for no key update;
    if not found then
        select id into existing
        from media.photo
        where source_key = lock_original.key and id is distinct from besides
        limit 1
        for no key update;
    end if;
    update media.photo set source_key = source_key where id = existing;
end
$$;
