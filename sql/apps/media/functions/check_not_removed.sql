-- check_not_removed: raises ER409 for a key whose object, or a folder above it, is about to be removed: the removal
-- would remove a new object of that key too.
create or replace function media.check_not_removed(context text, key text) returns void
language plpgsql stable set search_path = pg_catalog, media, pg_temp as $$
begin
    if exists (
        select from media.removal as existing
        where existing.key = any (
            select left(check_not_removed.key, length)
            from generate_series(1, length(check_not_removed.key)) as length
            where length = length(check_not_removed.key) or substr(check_not_removed.key, length, 1) = '/')
    ) then
        raise exception '%: expected one whose object is not about to be removed, got %', context,
            quote_literal(check_not_removed.key)
            using errcode = 'ER409', hint = 'Make the key unique, for example by a UUID.';
    end if;
end
$$;
