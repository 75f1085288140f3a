-- ended: returns those of the jobs that have ended, each with its state, output and error: one call for all that a
-- process waits for.
--
--   select * from errand.ended('{4711, 4712}');
--
-- A job is succeeded, failed, cancelled or obsolete; unknown if there is none of the caller's own with that id (any
-- more). After a call, ends are told by NOTIFY errand_ended for half a minute: '4711:succeeded,4712:failed', within
-- some milliseconds of their commit. A notification may be lost, so call it again each second.
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.ended(ids bigint[])
returns table (job_id bigint, state text, output jsonb, error text)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp set jit = off as $$
#variable_conflict use_column
declare
    logins constant text[] := errand_internal.own_logins();
    present constant bigint := extract(epoch from clock_timestamp());
begin
    if coalesce(pg_sequence_last_value('errand.followed_until'), 0) < present + 15
        and current_setting('transaction_read_only') = 'off'
    then
        perform setval('errand.followed_until', present + 30);
    end if;
    return query
    with found as materialized (
        select id, options, null::text as state, null::jsonb as output, null::text as error
        from errand.job
        where id = any (ids)
        union all
        select id, options, 'failed', null, error from errand.failed where id = any (ids)
        union all
        select id, options, state, output, reason from errand.history where id = any (ids)
    ),
    own as (
        select * from found where options ->> 'owner' = any (logins)
    )
    select asked.id, coalesce(own.state, 'unknown'), own.output, own.error
    from (select distinct id from unnest(ids) as id where id is not null) as asked
    left join own on own.id = asked.id
    where own.id is null or own.state is not null
    order by asked.id;
end
$$;
