-- retry_removals: retries objects now that the store has refused to remove, for example after its rights were fixed.
--
--   select media.retry_removals('the bucket policy is fixed');
--
-- Returns their number. Raises ER422 without a reason.
-- errand: for ops
create or replace function media.retry_removals(reason text) returns int
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    moved int;
begin
    perform errand_internal.check_reason('retry_removals', retry_removals.reason);
    update media.removal
    set try_at = clock_timestamp()
    where error is not null and try_at > clock_timestamp();
    get diagnostics moved = row_count;
    perform errand.enqueue('object_removal');
    perform errand_internal.record_action(
        'removal_retry', jsonb_build_object('removals', moved), retry_removals.reason);
    return moved;
end
$$;
