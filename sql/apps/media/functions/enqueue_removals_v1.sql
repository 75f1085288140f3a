-- enqueue_removals_v1: enqueues the job that removes objects if some are due. At most four of them are unfinished, so
-- that a job of a lost worker delays no other, and no more pile up while the store is down. Returns whether some are
-- due.
create or replace function media.enqueue_removals_v1() returns boolean
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
begin
    if not exists (select from media.removal where try_at <= now()) then
        return false;
    end if;
    perform errand.enqueue(
        'object_removal', unique_key => 'object_removal/' || floor(extract(epoch from now()) / 15)::bigint % 4);
    return true;
end
$$;
