-- delete: deletes an event at once, on behalf of its host: all rows of it in this transaction, its objects within
-- seconds of the commit. A receipt with counts remains.
--
--   select events.delete('6c1d…', 'user-17');
--
-- Returns deleted; not_host; no_event. It can't be undone. Raises ER422 without a user; above READ COMMITTED, 40001 if
-- the event has changed since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function events.delete(event_id uuid, user_id text) returns text
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    its_host text;
begin
    perform errand_internal.check_user('delete', $2);
    select host into its_host from events.event where id = $1 for update;
    if not found then
        return 'no_event';
    elsif its_host <> $2 then
        return 'not_host';
    end if;
    perform events.purge_event($1, 'event_deletion', 'its host has deleted the event');
    perform errand.enqueue('object_removal');
    return 'deleted';
end
$$;
