-- archive_is_wanted_v1: returns whether an archive is still to be made: it was not removed, is not made by another
-- attempt, and its photos are revealed.
--
-- Called right before the store gets the archive's last request. If the archive is removed after this, its object may
-- still appear: within 60 s, so it is removed once more by the removal's second try after 90 s.
create or replace function events.archive_is_wanted_v1(archive uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, events, pg_temp as $$
    select exists (
        select
        from events.archive as existing
        join events.event on event.id = existing.event_id
        where existing.id = archive_is_wanted_v1.archive and existing.made_at is null
            and (event.reveal_at is null or event.reveal_at <= clock_timestamp()))
$$;
