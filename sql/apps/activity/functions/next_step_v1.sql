-- next_step_v1: returns the next step of a job that has nothing to send, in the transaction that completes it. A later
-- change of the activity then enqueues the job again.
--
-- next is again if something has come meanwhile; wait, with until, if an end waits for its token (activity.set_token
-- brings it forward); else done.
create or replace function activity.next_step_v1(activity uuid, ends boolean)
returns table (next text, until timestamptz)
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    known activity.activity;
begin
    select * into known from activity.activity as held where held.id = activity for update;
    until := known.ends_at;
    next := case
        when known.id is null or known.ended_at is not null or not ends and known.state = 'ending' then 'done'
        when ends and known.token is null then 'wait'
        when ends or known.token is not null and known.sent_version < known.version
            or known.token is null and known.start_token is not null and known.start_accepted_at is null
        then 'again'
        else 'done'
    end;
    return next;
end
$$;
