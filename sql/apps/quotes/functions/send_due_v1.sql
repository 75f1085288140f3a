-- send_due_v1: enqueues the next pushes that are due, oldest first, and moves each subscription to its next day. One
-- transaction, so that a crash undoes both.
--
-- Starts after the given moment and id, and returns those of the last subscription: a caller that passes them on reads
-- no row twice, even while an old snapshot keeps moved entries in the index. A subscription that another session has
-- locked is left for the next run. taken is less than max_subscriptions if no more are due; pushed is less than taken
-- if days were left out, as quotes.due_push says, or have no quote.
--
-- No key of notify.send is used, because quotes.subscription has the last day that was pushed: a key for each push
-- would be a million rows a day.
-- errand: after move_due, of_the_day
create or replace function quotes.send_due_v1(
    max_subscriptions int default 5000, after timestamptz default '-infinity', after_id bigint default 0,
    at_time timestamptz default clock_timestamp()
) returns table (taken int, pushed int, through timestamptz, through_id bigint)
language plpgsql security definer set search_path = pg_catalog, quotes, pg_temp as $$
#variable_conflict use_column
declare
    batch record;
begin
    taken := 0;
    pushed := 0;
    for batch in
        select *
        from quotes.move_due(
            send_due_v1.max_subscriptions, send_due_v1.after, send_due_v1.after_id, send_due_v1.at_time)
    loop
        taken := batch.taken;
        through := batch.through;
        through_id := batch.through_id;
        continue when batch.day is null;
        perform notify.send(
            user_ids => batch.users, profile => 'daily_quote', body => quote.text || ' — ' || quote.author,
            data => jsonb_build_object(
                'type', 'daily_quote', 'day', batch.day::text, 'quote_id', quote.quote_id::text),
            collapse => 'daily_quote', not_after => batch.not_after)
        from quotes.of_the_day(batch.day) as quote;
        if found then
            pushed := pushed + cardinality(batch.users);
        end if;
    end loop;
    return next;
end
$$;
