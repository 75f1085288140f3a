-- handle_cleanup: the handler of the kind notification_cleanup. Ends deliveries that are too late, 1,000 a call and at
-- most 100 calls, and deletes notifications that were sent 30 days ago, at most 200 calls: the next run does the rest.
--
-- The output is {expired, batches}: late deliveries, and batches of old rows.
-- errand: after expire_v1, prune_v1
create or replace function notify.handle_cleanup(payload jsonb, state jsonb) returns errand.outcome
language plpgsql security definer set search_path = pg_catalog, notify, pg_temp as $$
declare
    expired int := coalesce((state ->> 'expired')::int, 0);
    batches int := coalesce((state ->> 'batches')::int, 0);
    late int;
    gone int;
begin
    if state -> 'batches' is null then
        late := notify.expire_v1();
        expired := expired + late;
        if late = 1000 and expired < 100000 then
            return errand.outcome_again(jsonb_build_object('expired', expired));
        end if;
    end if;
    gone := notify.prune_v1();
    batches := batches + (gone > 0)::int;
    if gone = 1000 and batches < 200 then
        return errand.outcome_again(jsonb_build_object('expired', expired, 'batches', batches));
    end if;
    return errand.outcome_done(jsonb_build_object('expired', expired, 'batches', batches));
end
$$;
