-- sweep_v1: enqueues missing end jobs of activities that are due within 10 minutes, and ends activities whose 8 hours
-- are over without an accepted end. At most max_activities of each; returns the numbers.
create or replace function activity.sweep_v1(max_activities int default 1000) returns table (fixed int, closed int)
language plpgsql security definer set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    known activity.activity;
    said text;
begin
    fixed := 0;
    closed := 0;
    for known in
        select held.*
        from activity.activity as held
        where held.ended_at is null and held.due_at <= clock_timestamp() + interval '10 minutes'
            and held.ends_at > clock_timestamp()
            and not exists (select from errand.job where unique_key = 'activity_end/' || held.id)
        order by held.due_at
        limit max_activities
        for update skip locked
    loop
        -- It has just ended.
        continue when exists (select from errand.job where unique_key = 'activity_end/' || known.id);
        perform activity.enqueue_end(known.id, greatest(known.due_at, now()), known.ends_at);
        perform activity.record_change(known.id, 'fixed', known.state, null, 'it had no job for its end');
        fixed := fixed + 1;
    end loop;
    for known in
        select held.*
        from activity.activity as held
        where held.ended_at is null and held.due_at <= clock_timestamp() and held.ends_at <= clock_timestamp()
        order by held.due_at
        limit max_activities
        for update skip locked
    loop
        said := 'its 8 hours were over: ' || coalesce(
            case when known.token is null then 'it had no update token' end,
            (
                select 'the last push was ' || outcome || coalesce(', ' || reason, '')
                from activity.push
                where push.activity_id = known.id
                order by push.id desc
                limit 1
            ),
            'no push was answered');
        update activity.activity as held
        set state = 'ended', ended_at = clock_timestamp(), end_reason = said
        where held.id = known.id;
        perform activity.record_change(known.id, 'ended', 'ended', null, said);
        closed := closed + 1;
    end loop;
    return next;
end
$$;
