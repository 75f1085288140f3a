-- cancel_own: cancels unfinished jobs of the caller's own, as errand.cancel does. The audit has it.
--
--   select * from errand.cancel_own('{4711}', reason => 'the order was cancelled');
--
-- Returns a row for each id with its state before and now, nulls for a job that isn't known or isn't the caller's own.
-- Raises ER422 without a reason.
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.cancel_own(ids bigint[], reason text)
returns table (job_id bigint, was text, now text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    own constant bigint[] := errand_internal.own_ids(ids);
begin
    return query
    select asked.id, cancelled.was, cancelled.now
    from (select distinct id from unnest(ids) as id where id is not null) as asked
    left join errand.cancel(own, cancel_own.reason) as cancelled on cancelled.job_id = asked.id
    order by asked.id;
end
$$;
