-- clean_up_v1: enqueues missing end jobs of activities that are due within 10 minutes, and ends activities whose 8
-- hours are over without an accepted end. At most max_activities of each; returns the numbers.
create or replace function activity.clean_up_v1(max_activities int default 1000) returns table (fixed int, closed int)
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    existing activity.activity;
    said text;
begin
    fixed := 0;
    closed := 0;
    for existing in
        select target.*
        from activity.activity as target
        where target.ended_at is null and target.due_at <= clock_timestamp() + interval '10 minutes'
            and target.ends_at > clock_timestamp()
            and not exists (select from errand.job where unique_key = 'activity_end/' || target.id)
        order by target.due_at
        limit max_activities
        for update skip locked
    loop
        -- It has just ended.
        continue when exists (select from errand.job where unique_key = 'activity_end/' || existing.id);
        perform activity.enqueue_end(existing.id, greatest(existing.due_at, now()), existing.ends_at);
        perform activity.record_change(existing.id, 'fixed', existing.state, null, 'it had no job for its end');
        fixed := fixed + 1;
    end loop;
    for existing in
        select target.*
        from activity.activity as target
        where target.ended_at is null and target.due_at <= clock_timestamp() and target.ends_at <= clock_timestamp()
        order by target.due_at
        limit max_activities
        for update skip locked
    loop
        said := 'its 8 hours were over: ' || coalesce(
            case when existing.token is null then 'it had no update token' end,
            (
                select 'the last push was ' || outcome || coalesce(', ' || reason, '')
                from activity.push
                where push.activity_id = existing.id
                order by push.id desc
                limit 1
            ),
            'no push was answered');
        update activity.activity as target
        set state = 'ended', ended_at = clock_timestamp(), end_reason = said
        where target.id = existing.id;
        perform activity.record_change(existing.id, 'ended', 'ended', null, said);
        closed := closed + 1;
    end loop;
    return next;
end
$$;
