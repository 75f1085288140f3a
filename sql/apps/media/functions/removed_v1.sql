-- removed_v1: records that the store has no object under these keys any more, and counts them on the receipts. An
-- object that may be on its way stays on the list until that time is over and a later try has removed it; until then it
-- is removed every 30 s. `tries` are those that removals_v1 returned. Returns the number of objects that left the list.
create or replace function media.removed_v1(ids bigint[], tries int[]) returns int
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    receipts bigint[];
    gone int;
begin
    -- One after the other for each receipt: of two calls that remove its last objects, one must see that none is left.
    select array_agg(existing.id) into receipts
    from (
        select receipt.id
        from media.receipt
        where receipt.id in (select receipt_id from media.removal where removal.id = any (removed_v1.ids))
        order by receipt.id
        for update
    ) as existing;
    update media.removal as existing
    set try_at = least(final_at, clock_timestamp() + interval '30 seconds'), error = null
    from unnest(removed_v1.ids, removed_v1.tries) as done (id, try)
    where existing.id = done.id and existing.tries = done.try and existing.in_flight
        and existing.final_at > existing.tried_at;
    with confirmed as (
        delete from media.removal as existing
        using unnest(removed_v1.ids, removed_v1.tries) as done (id, try)
        -- An object that can't come back is removed, even if its try took too long and others try it again.
        where existing.id = done.id
            and (not existing.in_flight or existing.final_at <= existing.tried_at and existing.tries = done.try)
        returning existing.receipt_id, existing.is_folder
    ),
    counted as (
        update media.receipt
        set objects = receipt.objects + part.objects
        from (
            select receipt_id, count(*) filter (where not is_folder) as objects from confirmed group by receipt_id
        ) as part
        where receipt.id = part.receipt_id
    )
    select count(*) into gone from confirmed;
    update media.receipt
    set finished_at = clock_timestamp()
    where id = any (receipts) and finished_at is null
        and not exists (select from media.removal where receipt_id = receipt.id);
    return gone;
end
$$;
