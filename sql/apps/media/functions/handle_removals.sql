-- handle_removals: the handler of the kind removal_cleanup. Enqueues the removal of objects that are due: originals of
-- stored photos, and what the store refused before. Deletes receipts that were finished 30 days ago, 1,000 a call and
-- at most 20 calls: the next run does the rest.
--
-- It needs no store: while that is down, the jobs that remove objects wait, four of them at most. The output is
-- {areObjectsDue, pruned}.
-- errand: after enqueue_removals_v1, prune_v1
create or replace function media.handle_removals(payload jsonb, state jsonb) returns errand.outcome
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    are_due constant jsonb := coalesce(state -> 'areObjectsDue', to_jsonb(media.enqueue_removals_v1()));
    gone constant int := media.prune_v1(1000);
    pruned constant int := coalesce((state ->> 'pruned')::int, 0) + gone;
    report constant jsonb := jsonb_build_object('areObjectsDue', are_due, 'pruned', pruned);
begin
    if gone = 1000 and pruned < 20000 then
        return errand.outcome_again(report);
    end if;
    return errand.outcome_done(report);
end
$$;
