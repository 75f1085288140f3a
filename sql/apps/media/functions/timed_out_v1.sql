-- timed_out_v1: counts that the wall clock has ended the compression of a photo, in the transaction that snoozes its
-- job. A busy host is no fault of the photo, so this spends no attempt.
--
-- Returns how often it has by now, 1 to 5. Returns null and counts nothing after five times, and for a photo that has
-- its result or is gone.
create or replace function media.timed_out_v1(photo uuid) returns int
language sql security definer set search_path = pg_catalog, media, pg_temp as $$
    update media.photo as existing
    set timeouts = existing.timeouts + 1
    where existing.id = timed_out_v1.photo and existing.state <> 'compressed' and existing.timeouts < 5
    returning existing.timeouts
$$;
