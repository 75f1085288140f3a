-- not_sent_v1: records a push that was not accepted. for_good: APNs will never accept it. Then an activity fails if the
-- push was its start or end, and an update is given up. Otherwise the push is retried. A push that could not be sent
-- because no key is set is recorded once, with the time of its last try.
create or replace function activity.not_sent_v1(activity uuid, for_good boolean, push jsonb) returns void
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    existing activity.activity;
    event constant text := push ->> 'event';
    said constant text := format('%s refused: %s', event, coalesce(push ->> 'reason', 'without a reason'));
begin
    select * into existing from activity.activity as target where target.id = activity for update;
    if not found then
        return;
    end if;
    if push ->> 'via' = 'none' then
        update activity.push as last
        set responded_at = clock_timestamp()
        where last.id = (select max(id) from activity.push as target where target.activity_id = activity)
            and last.outcome = 'not_sent' and last.event = event and last.version = (push ->> 'version')::int;
        if not found then
            perform activity.record_push(activity, 'not_sent', push);
        end if;
        return;
    end if;
    perform activity.record_push(activity, case when for_good then 'refused' else 'put off' end, push);
    if not for_good or existing.ended_at is not null then
        return;
    elsif event = 'update' then
        update activity.activity as target
        set sent_version = greatest(target.sent_version, (push ->> 'version')::int)
        where target.id = activity;
        return;
    end if;
    update activity.activity as target
    set state = 'failed', ended_at = clock_timestamp(), end_reason = said, ended_in = pg_current_xact_id()
    where target.id = activity;
    perform activity.record_change(activity, 'failed', 'failed', 'job ' || (push ->> 'job_id'), said);
    perform activity.cancel_jobs(activity, said, (push ->> 'job_id')::bigint);
end
$$;
