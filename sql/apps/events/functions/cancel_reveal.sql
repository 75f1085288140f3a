-- cancel_reveal: cancels the job that tells the participants of the reveal, if it waits. The caller has locked the
-- event.
create or replace function events.cancel_reveal(event_id uuid, reason text) returns void
language plpgsql set search_path = pg_catalog, events, pg_temp as $$
declare
    tells bigint;
begin
    select id into tells from errand.job where unique_key = 'event_reveal/' || cancel_reveal.event_id;
    if found then
        perform errand.cancel(array[tells], cancel_reveal.reason);
    end if;
end
$$;
