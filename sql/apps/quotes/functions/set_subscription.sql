-- set_subscription: starts or changes a user's daily push at the given moment; returns when the next one is due. See
-- quotes.subscribe.
--
-- The next push is on a local day after that of the last one, both by its date and on the clock of the new zone. So
-- neither a journey across the date line nor a change right after a push gives one local day two pushes.
-- errand: after next_push
create or replace function quotes.set_subscription(
    user_id text, local_time time, time_zone text, at_time timestamptz default null
) returns timestamptz
language plpgsql set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    existing quotes.subscription;
    -- Read after the row is locked: a batch of pushes may have held it.
    present timestamptz;
    from_day date;
    due_day date;
    coming record;
begin
    loop
        select * into existing
        from quotes.subscription as target
        where target.user_id = set_subscription.user_id
        for update;
        present := coalesce(set_subscription.at_time, clock_timestamp());
        if existing.ended_at is null and existing.local_time = set_subscription.local_time
            and existing.time_zone = set_subscription.time_zone
        then
            return existing.next_at;
        end if;
        from_day := greatest(existing.last_day, (existing.last_at at time zone set_subscription.time_zone)::date) + 1;
        select * into coming
        from quotes.next_push(set_subscription.local_time, set_subscription.time_zone, present, from_day);
        due_day := (existing.next_at at time zone set_subscription.time_zone)::date;
        if existing.next_at <= present and due_day < coming.day and (due_day < from_day) is not true then
            -- It is due at this moment, and its day would be left without a push.
            coming.day := due_day;
            coming.due_at := existing.next_at;
        end if;
        if existing.user_id is not null then
            update quotes.subscription as target
            set
                local_time = set_subscription.local_time, time_zone = set_subscription.time_zone,
                next_day = coming.day, next_at = coming.due_at, ended_at = null
            where target.user_id = set_subscription.user_id;
            return coming.due_at;
        end if;
        insert into quotes.subscription (user_id, local_time, time_zone, next_day, next_at)
        values (
            set_subscription.user_id, set_subscription.local_time, set_subscription.time_zone, coming.day,
            coming.due_at)
        on conflict on constraint subscription_pkey do nothing;
        if found then
            return coming.due_at;
        end if;
        -- Another session was faster.
    end loop;
end
$$;
