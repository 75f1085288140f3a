-- files_of: returns the files of an event beside its photos, to a participant or the host: its archive and its QR
-- codes, each with the key for a link.
--
--   select what, state, key, link_seconds from events.files_of('6c1d…', 'user-18');
--
-- what is archive or code. The archive is there as events.archive_status returns it: once somebody has asked for it,
-- and not before the photos are revealed. state is making, made or failed of an archive, drawing, stored or failed of a
-- code. key is null until the store has the object; type is its media type, link the URL that a code holds.
-- link_seconds is how long a signed URL of it may be valid: until the purge of the event, 7 days at most.
--
-- No row for another user. Raises ER422 without a user.
-- errand: for enqueuer, ops
create or replace function events.files_of(event_id uuid, user_id text)
returns table (
    what text, state text, key text, type text, bytes bigint, made_at timestamptz, link text, link_seconds int
)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_user('files_of', $2);
    return query
    select 'archive', existing.state, existing.key, 'application/zip', existing.bytes, existing.made_at, null,
        existing.link_seconds
    from events.archive_status($1, $2) as existing;
    return query
    select
        'code', existing.state, case existing.state when 'stored' then existing.key end, 'image/png',
        existing.bytes::bigint,
        existing.stored_at, existing.link,
        case existing.state when 'stored' then events.link_seconds(status.purge_at) end
    from events.event_status as status
    join events.code_status as existing on existing.event_id = status.id
    where status.id = $1
        and (
            status.host = $2
            or exists (
                select from events.participant where participant.event_id = $1 and participant.user_id = $2)
        )
    order by existing.requested_at, existing.id;
end
$$;
