-- retentions: returns how long ended jobs stay that don't have the usual retention, by kind and state. What an operator
-- has set counts before what the program says.
-- errand: for ops, monitor
create or replace function errand_internal.retentions() returns table (kind text, state text, keep interval)
language sql stable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select kind, state, coalesce(existing.keep, program.keep)
    from (
        select name as kind, state, case state when 'failed' then keep_failed else keep_ended end as keep
        from errand.kind
        cross join unnest('{succeeded,failed,cancelled,obsolete}'::text[]) as state
        where keep_failed is not null or keep_ended is not null
    ) as program
    full join errand.retention as existing using (kind, state)
    where coalesce(existing.keep, program.keep) is not null
$$;
