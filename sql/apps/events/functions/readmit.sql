-- readmit: lets a user join an event again that its host has excluded.
--
--   select events.readmit('6c1d…', 'user-17', 'user-18');
--
-- Returns readmitted; not_excluded; not_host; no_event. Raises ER422 without a user.
-- errand: for enqueuer, ops
create or replace function events.readmit(event_id uuid, user_id text, participant text) returns text
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    its_host text;
begin
    perform errand_internal.check_user('readmit', $2);
    perform errand_internal.check_user('readmit: participant', $3);
    select host into its_host from events.event where id = $1 for key share;
    if its_host is null then
        return 'no_event';
    elsif its_host <> $2 then
        return 'not_host';
    end if;
    delete from events.exclusion where event_id = $1 and user_id = $3;
    return case when found then 'readmitted' else 'not_excluded' end;
end
$$;
