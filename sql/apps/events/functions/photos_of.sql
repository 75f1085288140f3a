-- photos_of: returns the photos of an event that a user may see now, oldest first, in pages.
--
--   select id, user_id, state, result_key, is_own from events.photos_of('6c1d…', 'user-18');
--   select id, result_key from events.photos_of('6c1d…', 'user-18', after => '9f0e…', most => 50);
--   select id, result_key from events.photos_of('6c1d…', 'user-18', only_own => true);
--
-- Before the event's reveal_at a participant sees the own photos, from then on all. The database's clock decides, so
-- photos are revealed on time even if no worker runs. A user who is no participant sees none. state is submitted,
-- compressed, delivered or failed; a delivered one has its result in the store, below result_key. error is why an own
-- photo failed. original_key is the key of the original of an own photo that is kept: nobody else gets it, because it
-- has the place where it was taken.
--
-- after is the id of the last photo of the page before; if it was deleted since, the page is empty: begin anew. Raises
-- ER422 without a user, and for a page that isn't 1 to 1,000 photos.
-- errand: for enqueuer, ops
create or replace function events.photos_of(
    event_id uuid, viewer text, only_own boolean default false, after uuid default null, most int default 1000
)
returns table (
    id uuid, user_id text, state text, result_key text, width int, height int, added_at timestamptz, is_own boolean,
    error text, original_key text
)
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_user('photos_of', $2);
    perform events.check_page('photos_of', $5);
    return query
    select
        existing.photo, existing.user_id, status.state, status.result_key, status.width, status.height,
        existing.added_at,
        existing.user_id = $2, case when existing.user_id = $2 then status.error end,
        case when existing.user_id = $2 and status.keep_original and status.original_removed_at is null
            then status.source_key
        end
    from events.event
    join events.photo as existing on existing.event_id = event.id
    join media.photo_status as status on status.id = existing.photo
    where event.id = $1
        and exists (select from events.participant where participant.event_id = $1 and participant.user_id = $2)
        and (existing.user_id = $2
            or not coalesce($3, false) and (event.reveal_at is null or event.reveal_at <= clock_timestamp()))
        and ($4 is null or (existing.added_at, existing.photo) > (
            select last.added_at, last.photo from events.photo as last where last.photo = $4 and last.event_id = $1))
    order by existing.added_at, existing.photo
    limit $5;
end
$$;
