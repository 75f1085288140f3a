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
    existing activity.activity;
begin
    select * into existing from activity.activity as target where target.id = activity for update;
    until := existing.ends_at;
    next := case
        when existing.id is null or existing.ended_at is not null or not ends and existing.state = 'ending' then 'done'
        when ends and existing.token is null then 'wait'
        when ends or existing.token is not null and existing.sent_version < existing.version
            or existing.token is null and existing.start_token is not null and existing.start_accepted_at is null
        then 'again'
        else 'done'
    end;
    return next;
end
$$;
