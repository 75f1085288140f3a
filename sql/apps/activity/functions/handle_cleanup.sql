-- handle_cleanup: the handler of the kind activity_cleanup. Repairs activities without a job for their end and ends
-- those whose 8 hours are over, 1,000 a call, so that locks are short; then deletes those that ended 30 days ago. At
-- most 20,000 of each a run: the next run does the rest.
--
-- The output is {fixed, closed, pruned}. fixed above 0 is rare: activity.change_record names the activities.
-- errand: after clean_up_v1, prune_v1
create or replace function activity.handle_cleanup(payload jsonb, state jsonb) returns errand.outcome
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
declare
    fixed int := coalesce((state ->> 'fixed')::int, 0);
    closed int := coalesce((state ->> 'closed')::int, 0);
    pruned int := coalesce((state ->> 'pruned')::int, 0);
    batch record;
    gone int;
begin
    if state -> 'pruned' is null then
        select * into batch from activity.clean_up_v1();
        fixed := fixed + batch.fixed;
        closed := closed + batch.closed;
        if greatest(batch.fixed, batch.closed) = 1000 and greatest(fixed, closed) < 20000 then
            return errand.outcome_again(jsonb_build_object('fixed', fixed, 'closed', closed));
        end if;
    end if;
    gone := activity.prune_v1();
    pruned := pruned + gone;
    if gone = 1000 and pruned < 20000 then
        return errand.outcome_again(jsonb_build_object('fixed', fixed, 'closed', closed, 'pruned', pruned));
    end if;
    return errand.outcome_done(jsonb_build_object('fixed', fixed, 'closed', closed, 'pruned', pruned));
end
$$;
