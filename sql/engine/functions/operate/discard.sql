-- discard: gives up failed jobs. They move to the history as cancelled, and stay there until their day is dropped.
--
--   select * from errand.discard('{4711}', reason => 'the customer has left');
--
-- Returns a row for each id with its state before and now, nulls for an unknown id. Other jobs stay as they are. Raises
-- ER422 without a reason.
-- errand: for ops
-- errand: topic retry
create or replace function errand.discard(ids bigint[], reason text)
returns table (job_id bigint, was text, now text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    -- All of them, so that none is skipped below.
    existing constant bigint[] := array(select id from errand.failed where id = any (ids) order by id for update);
    discarded bigint[];
    action_id constant bigint := nextval('errand.action_id_seq');
begin
    perform errand_internal.check_reason('discard', discard.reason);
    discarded := errand_internal.discard_jobs(existing, discard.reason, action_id);
    if discarded <> '{}' then
        perform errand_internal.record_action(
            'discard', jsonb_build_object('ids', discarded[1:100]), discard.reason, discarded,
            action_id);
    end if;
    return query
    select
        asked.id,
        case when asked.id = any (discarded) then 'failed' else errand_internal.state_of(asked.id) end,
        case when asked.id = any (discarded) then 'cancelled' else errand_internal.state_of(asked.id) end
    from (select distinct id from unnest(ids) as id where id is not null) as asked
    order by asked.id;
end
$$;
