-- remove: deletes a photo with all its rows, and lists its objects for removal, whatever its state.
--
--   select media.remove('6c1d…', reason => 'its owner has deleted it');
--
-- Its jobs are cancelled: a running compression or upload of it has no effect. Its objects, original and result, are
-- removed within seconds of the commit. Apps that refer to the photo lose their rows about it too. Returns whether
-- there was such a photo. Raises ER422 for a reason that is not 1 to 1,000 characters long; above READ COMMITTED, 40001
-- if the photo has changed since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function media.remove(photo uuid, reason text default null) returns boolean
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    cause constant text := coalesce(remove.reason, 'its photo was removed');
begin
    perform errand_internal.check_reason('remove', cause);
    if (media.remove_photos(array[remove.photo], cause)).deleted = 0 then
        return false;
    end if;
    -- Without a unique key: with one, all who remove would wait for each other's commit.
    perform errand.enqueue('object_removal');
    return true;
end
$$;
