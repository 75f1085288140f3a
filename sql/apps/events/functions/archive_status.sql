-- archive_status: returns the archive of an event to a participant or the host.
--
--   select state, photos, bytes, key, link_seconds from events.archive_status('6c1d…', 'user-18');
--
-- state is made, if there is an archive: key is that of its object, photos and bytes are its numbers, and missing the
-- number of photos whose objects the store did not have. is_current is whether it has all photos of now. Without an
-- archive, state is making or failed; events.archive makes a failed one again. link_seconds is how long a link to it
-- may be valid: until the purge of the event, 7 days at most.
--
-- No row for another user, before the photos are revealed, and if nobody has asked for an archive. Raises ER422 without
-- a user.
-- errand: for enqueuer, ops
create or replace function events.archive_status(event_id uuid, user_id text)
returns table (
    state text, photos int, missing int, bytes bigint, key text, made_at timestamptz, is_current boolean,
    link_seconds int
)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_user('archive_status', $2);
    return query
    select
        case
            when existing.made_at is not null then 'made'
            when exists (select from errand.job where job.id = existing.job_id) then 'making'
            else 'failed'
        end,
        existing.photos, existing.missing, existing.bytes, case when existing.made_at is not null then existing.key end,
        existing.made_at, existing.made_at is not null
        and existing.contents is not distinct from events.archive_contents($1),
        case when existing.made_at is not null then events.link_seconds(status.purge_at) end
    from events.archive as existing
    join events.event_status as status on status.id = existing.event_id
    where existing.event_id = $1 and status.is_revealed
        and (
            status.host = $2
            or exists (
                select from events.participant where participant.event_id = $1 and participant.user_id = $2)
        )
    order by existing.made_at desc nulls last, existing.asked_at desc
    limit 1;
end
$$;
