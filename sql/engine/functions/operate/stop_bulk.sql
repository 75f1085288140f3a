-- stop_bulk: ends a bulk action. What it has changed stays changed.
--
--   select errand.stop_bulk(3, reason => 'the wrong kind');
--
-- Waits for its current batch, some 100 ms. Returns how many jobs it has changed. Raises ER404 for an unknown one,
-- ER409 for one that has ended, and ER422 without a reason.
-- errand: for ops
-- errand: topic bulk
create or replace function errand.stop_bulk(bulk_id bigint, reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    existing errand.bulk;
begin
    perform errand_internal.check_reason('stop_bulk', stop_bulk.reason);
    select * into existing from errand.bulk where id = stop_bulk.bulk_id for update;
    if not found then
        raise exception 'stop_bulk: bulk_id: expected one of errand.bulk_status, got %',
            coalesce(stop_bulk.bulk_id::text, 'null') using errcode = 'ER404';
    elsif existing.ended_at is not null then
        raise exception 'stop_bulk: bulk %: expected one that goes on, got one that ended at %', existing.id,
            existing.ended_at
            using errcode = 'ER409';
    end if;
    update errand.bulk
    set ended_at = clock_timestamp(), stopped_by = session_user, stopped_reason = stop_bulk.reason
    where id = existing.id;
    perform errand_internal.record_action('stop_bulk', jsonb_build_object('bulk', existing.id), stop_bulk.reason);
    return existing.changed;
end
$$;
