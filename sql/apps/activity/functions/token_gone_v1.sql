-- token_gone_v1: records that a push's token is dead, in the transaction that completes the job: the activity ends, its
-- token is deleted, and its jobs are cancelled.
--
-- since is when the token died, if APNs says so. ambiguous: wrong settings would give the same reason for every token.
--
-- Returns ended. Returns replaced if the activity has another token by now: the push is sent again at once. Returns
-- newer if this token was registered again after that: it is sent again later. Returns misconfigured, and ends nothing,
-- if the settings are wrong: at least four pushes for other activities had the same reason, and none of the last twenty
-- had another result.
create or replace function activity.token_gone_v1(
    activity uuid, token text, since timestamptz, push jsonb, ambiguous boolean default false
) returns text
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    existing activity.activity;
    is_start constant boolean := push ->> 'event' = 'start';
    current_token text;
    known_since timestamptz;
    said constant text := 'token gone: ' || coalesce(push ->> 'reason', 'without a reason');
    who constant text := 'job ' || (push ->> 'job_id');
begin
    select * into existing from activity.activity as target where target.id = activity for update;
    if not found then
        return 'ended';
    end if;
    if ambiguous then
        -- One at a time, so that each sees the pushes before it.
        perform from activity.setting for update;
        if (
            select count(*) >= 4 and bool_and(last.reason is not distinct from push ->> 'reason')
            from (
                select target.reason
                from activity.push as target
                where target.activity_id <> token_gone_v1.activity
                order by target.id desc
                limit 20
            ) as last
        ) then
            perform activity.record_push(activity, 'put off', push);
            return 'misconfigured';
        end if;
    end if;
    perform activity.record_push(activity, 'token gone', push);
    current_token := case when is_start then existing.start_token else existing.token end;
    known_since := case when is_start then existing.started_at else existing.token_set_at end;
    if existing.ended_at is not null then
        return 'ended';
    -- With an update token from the app, the activity was started anyway.
    elsif current_token is distinct from token or is_start and existing.token is not null then
        return 'replaced';
    elsif since < known_since then
        return 'newer';
    end if;
    update activity.activity as target
    set start_token = case when is_start then null else target.start_token end,
        token = case when is_start then target.token end,
        state = 'ended', ended_at = clock_timestamp(), end_reason = said, ended_in = pg_current_xact_id()
    where target.id = activity;
    perform activity.record_change(activity, 'token forgotten', 'ended', who, said);
    perform activity.record_change(activity, 'ended', 'ended', who, said);
    perform activity.cancel_jobs(activity, said, (push ->> 'job_id')::bigint);
    return 'ended';
end
$$;
