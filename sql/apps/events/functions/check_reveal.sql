-- check_reveal: raises ER422 for an event that would be purged before its photos are revealed.
create or replace function events.check_reveal(context text, event_id uuid) returns void
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
declare
    planned record;
begin
    select * into planned from events.event_status where id = check_reveal.event_id;
    if planned.reveal_at >= planned.purge_at then
        raise exception '%: reveal_at: expected a time before the purge at %, got %',
            context, planned.purge_at, planned.reveal_at using errcode = 'ER422';
    end if;
end
$$;
