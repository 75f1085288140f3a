-- exclude: removes a participant from an event, on behalf of its host, and keeps the user out.
--
--   select status, photos from events.exclude('6c1d…', 'user-17', 'user-18');
--   select status, photos from events.exclude('6c1d…', 'user-17', 'user-18', with_photos => true);
--
-- status is excluded, also if the user had not joined, with the number of deleted photos; is_host if it is the host's
-- own; not_host; no_event. The photos stay unless with_photos is true. events.readmit lets the user join again. Raises
-- ER422 without a user; above READ COMMITTED, 40001 if the event has changed since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function events.exclude(
    event_id uuid, user_id text, participant text, with_photos boolean default false
)
returns table (status text, photos int)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    its_host text;
begin
    perform errand_internal.check_user('exclude', $2);
    perform errand_internal.check_user('exclude: participant', $3);
    photos := 0;
    select host into its_host from events.event where id = $1 for no key update;
    status := case
        when its_host is null then 'no_event'
        when its_host <> $2 then 'not_host'
        when its_host = $3 then 'is_host'
        else 'excluded'
    end;
    if status = 'excluded' then
        insert into events.exclusion (event_id, user_id) values ($1, $3)
        on conflict on constraint exclusion_pkey do nothing;
        select gone.photos into photos from events.leave($1, $3, $4) as gone;
    end if;
    return next;
end
$$;
