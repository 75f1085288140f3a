-- start_bulk: has maintenance cancel or discard all jobs that match a filter, however many they are. Returns the
-- number of the bulk action.
--
--   select errand.start_bulk('cancel', '{"kind": "newsletter"}', reason => 'wrong text');
--   select * from errand.bulk_status;
--
-- cancel ends unfinished jobs, discard gives up failed ones. Only jobs that were enqueued before the call are changed.
-- Any worker or scheduler makes the batches, of 1,000 jobs read at most, each a transaction of its own, with a delay as
-- long as the batch took. A killed process loses its last batch at most, and another one goes on. The reason of each
-- job begins with bulk and this number. One bulk action runs at a time, the oldest first. errand.stop_bulk ends one.
--
-- errand_internal.job_filter has the filter's keys, and errand.cancel_where and errand.discard_where show what matches.
-- Raises ER422.
-- errand: for ops
-- errand: topic bulk
create or replace function errand.start_bulk(action text, filter jsonb, reason text) returns bigint
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    choice errand.job_choice;
    started bigint;
    bounds bigint[];
    action_id constant bigint := nextval('errand.action_id_seq');
begin
    perform errand_internal.check_reason('start_bulk', start_bulk.reason);
    if start_bulk.action is null or start_bulk.action not in ('cancel', 'discard') then
        raise exception 'start_bulk: action: expected cancel or discard, got %', quote_nullable(left(action, 100))
            using errcode = 'ER422';
    end if;
    choice := errand_internal.job_filter('start_bulk', start_bulk.filter, case start_bulk.action
        when 'cancel' then '{scheduled,available,parked,running}'::text[] else '{failed}' end);
    perform errand_internal.report_unknown('start_bulk', choice);
    bounds := case start_bulk.action
        when 'cancel' then (select array[min(id), max(id)] from errand.job)
        else (select array[min(id), max(id)] from errand.failed)
    end;
    insert into errand.bulk (action_id, action, filter, reason, from_id, after_id, upto_id)
    values (
        action_id, start_bulk.action, start_bulk.filter, start_bulk.reason, coalesce(bounds[1], 1) - 1,
        coalesce(bounds[1], 1) - 1, coalesce(bounds[2], 0))
    returning id into started;
    perform errand_internal.record_action(
        'start_bulk', jsonb_build_object('bulk', started, 'action', start_bulk.action, 'filter', start_bulk.filter),
        start_bulk.reason, action_id => action_id);
    return started;
end
$$;
