-- handle_pool: the handler of the kind number_pool. Draws free virtual numbers ahead, 5,000 a call, until the pool is
-- full. At most 200 calls, as many as the largest pool needs: users who take numbers meanwhile don't prolong the run.
--
-- No user depends on it: identity.assign draws a number itself if the pool is empty. The output is {drawn}.
-- errand: after fill_pool_v1
create or replace function identity.handle_pool(payload jsonb, state jsonb) returns errand.outcome
language plpgsql security definer set search_path = pg_catalog, identity, pg_temp as $$
declare
    calls constant int := coalesce((state ->> 'calls')::int, 0) + 1;
    drawn constant int := identity.fill_pool_v1();
    total constant int := coalesce((state ->> 'drawn')::int, 0) + drawn;
begin
    if drawn = 5000 and calls < 200 then
        return errand.outcome_again(jsonb_build_object('drawn', total, 'calls', calls));
    end if;
    return errand.outcome_done(jsonb_build_object('drawn', total));
end
$$;
