-- reveal_v1: tells the participants of an event that its photos are revealed, once, in the transaction that completes
-- the job: a notification to their devices, and the event `revealed` to the event's room.
--
-- Returns revealed with the number of people; already_revealed; too_early with the time of the reveal; gone if there is
-- no such event any more, or it is about to be purged.
create or replace function events.reveal_v1(event uuid)
returns table (status text, reveal_at timestamptz, people int)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    -- As many as notify.send takes.
    most constant int := 10000;
    existing events.event;
    present timestamptz;
    last_moment timestamptz;
    users text[];
begin
    select * into existing from events.event where id = $1 for no key update;
    present := clock_timestamp();
    last_moment := least((select purge_at from events.event_status where id = $1), present + interval '7 days');
    status := case
        when existing.reveal_at is null then 'gone'
        when existing.revealed_at is not null then 'already_revealed'
        when present < existing.reveal_at then 'too_early'
        when last_moment <= present then 'gone'
        else 'revealed'
    end;
    reveal_at := existing.reveal_at;
    people := 0;
    if status = 'revealed' then
        update events.event set revealed_at = present where id = $1;
        users := array(select user_id from events.participant where event_id = $1 order by user_id);
        people := cardinality(users);
        for index in 1 .. people by most loop
            -- Without the event's title: notifications are kept longer than the event may be.
            perform notify.send(
                users[index : index + most - 1], profile => 'event_reveal', data => jsonb_build_object('event_id', $1),
                collapse => 'event-' || $1, not_after => last_moment, once => 'event_reveal/' || $1);
        end loop;
        perform events.tell($1, 'revealed');
    end if;
    return next;
end
$$;
