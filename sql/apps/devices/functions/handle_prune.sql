-- handle_prune: the handler of the kind device_prune. Deletes devices that were retired 30 days ago, and the record of
-- changes from then, 1,000 a call and at most 200 calls a run: the next run does the rest.
--
-- The output is {devices, changes}.
-- errand: after prune_v1
create or replace function devices.handle_prune(payload jsonb, state jsonb) returns errand.outcome
language plpgsql security definer set search_path = pg_catalog, devices, pg_temp as $$
declare
    calls constant int := coalesce((state ->> 'calls')::int, 0) + 1;
    batch record;
    sums jsonb;
begin
    select * into batch from devices.prune_v1();
    sums := jsonb_build_object(
        'devices', coalesce((state ->> 'devices')::int, 0) + batch.devices,
        'changes', coalesce((state ->> 'changes')::int, 0) + batch.changes);
    if greatest(batch.devices, batch.changes) = 1000 and calls < 200 then
        return errand.outcome_again(sums || jsonb_build_object('calls', calls));
    end if;
    return errand.outcome_done(sums);
end
$$;
