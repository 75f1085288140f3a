-- handle_expiry: the handler of the kind invite_expiry. Marks invites whose 24 hours are over, 5,000 a call, so that
-- locks are short; then deletes those that ended 30 days ago, at most 20,000 a run: the next run does the rest.
--
-- Nothing depends on the marks: pairing.redeem_invite compares with the clock. The output is {expired, pruned}.
-- errand: after expire_due_v1, prune_invites_v1
create or replace function pairing.handle_expiry(payload jsonb, state jsonb) returns errand.outcome
language plpgsql security definer set search_path = pg_catalog, pairing, pg_temp as $$
declare
    expired int := coalesce((state ->> 'expired')::int, 0);
    pruned int := coalesce((state ->> 'pruned')::int, 0);
    batch record;
    gone int;
begin
    if state -> 'pruned' is null then
        select * into batch
        from pairing.expire_due_v1(
            coalesce((state ->> 'after')::timestamptz, '-infinity'), coalesce((state ->> 'after_id')::bigint, 0));
        expired := expired + batch.marked;
        if batch.marked = 5000 then
            return errand.outcome_again(jsonb_build_object(
                'expired', expired, 'after', batch.through, 'after_id', batch.through_id));
        end if;
    end if;
    gone := pairing.prune_invites_v1();
    pruned := pruned + gone;
    if gone > 0 and pruned < 20000 then
        return errand.outcome_again(jsonb_build_object('expired', expired, 'pruned', pruned));
    end if;
    return errand.outcome_done(jsonb_build_object('expired', expired, 'pruned', pruned));
end
$$;
