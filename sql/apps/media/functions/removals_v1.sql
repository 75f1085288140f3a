-- removals_v1: takes up to `most` objects for removal, those that wait longest first. No other call gets them for a
-- minute: after that the caller counts as lost.
--
-- An object that may be on its way is removed now, every 30 s, and for the last time 90 s later. An upload that had
-- begun when its row was deleted has ended by then, because an attempt ends after 60 s. The caller returns try with the
-- result. is_ready is false for a folder that is not to be checked yet.
create or replace function media.removals_v1(most int)
returns table (id bigint, try int, key text, is_folder boolean, is_ready boolean)
language sql security definer set search_path = pg_catalog, media, pg_temp as $$
    with due as (
        select removal.id
        from media.removal
        where try_at <= now()
        order by try_at, removal.id
        limit removals_v1.most
        for update skip locked
    )
    update media.removal as existing
    set tries = tries + 1, tried_at = clock_timestamp(),
        final_at = case when in_flight then coalesce(final_at, clock_timestamp() + interval '90 seconds') end,
        try_at = case
            when existing.is_folder and final_at is null then clock_timestamp() + interval '90 seconds'
            else clock_timestamp() + interval '60 seconds'
        end
    from due
    where existing.id = due.id
    returning existing.id, existing.tries, existing.key, existing.is_folder, not existing.is_folder
        or existing.final_at <= existing.tried_at
$$;
