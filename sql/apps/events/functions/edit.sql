-- edit: changes an event, on behalf of its host. Null leaves a value as it is.
--
--   select events.edit('6c1d…', 'user-17', title => 'Our wedding', ends_at => '2026-06-07 06:00+02');
--   select events.edit('6c1d…', 'user-17', reveal_at => now());
--   select events.edit('6c1d…', 'user-17', without_reveal => true);
--   select events.edit('6c1d…', 'user-17', qualities => '[50,80]', kept_days => 30);
--
-- Returns edited; revealed, with nothing changed, for another reveal_at after the reveal; not_host; no_event if there
-- is none or it was purged. A reveal_at that has passed reveals the photos now. without_reveal takes a planned reveal
-- back: all see the photos from now on, and nobody is told. An event that has ended lives again with an end in the
-- future. Photos beyond a lowered limit stay. keep_original, qualities and max_edge are for photos that are added from
-- now on; kept_days moves the purge. A reveal that is to come hides the photos again, and ends an archive that is being
-- made.
--
-- The bounds are those of events.create. Also raises ER422 for a new end that has passed (events.end_now ends an
-- event), for a reveal_at beside without_reveal, and for a new start or new kept_days with which the event would be
-- purged at once; above READ COMMITTED, 40001 if the event has changed since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function events.edit(
    event_id uuid,
    user_id text,
    title text default null,
    starts_at timestamptz default null,
    ends_at timestamptz default null,
    photos_each int default null,
    photos_in_all int default null,
    reveal_at timestamptz default null,
    without_reveal boolean default false,
    keep_original boolean default null,
    qualities int4range default null,
    max_edge int default null,
    kept_days int default null
) returns text
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    existing events.event;
    -- A reveal that the participants have not been told of.
    is_pending boolean;
    unfinished uuid[];
begin
    perform errand_internal.check_user('edit', $2);
    select * into existing from events.event where id = $1 for no key update;
    if not found then
        return 'no_event';
    elsif existing.host <> $2 then
        return 'not_host';
    elsif $5 <= clock_timestamp() then
        raise exception 'edit: ends_at: expected a time in the future, got %', $5
            using errcode = 'ER422', hint = 'events.end_now ends an event.';
    elsif existing.reveal_at <= clock_timestamp() and ($9 or $8 <> existing.reveal_at) then
        return 'revealed';
    elsif $9 and $8 is not null then
        raise exception 'edit: without_reveal: expected no reveal_at beside it, got %', $8 using errcode = 'ER422';
    end if;
    existing.title := coalesce($3, existing.title);
    existing.starts_at := coalesce($4, existing.starts_at);
    existing.ends_at := coalesce($5, existing.ends_at);
    existing.photos_each := coalesce($6, existing.photos_each);
    existing.photos_in_all := coalesce($7, existing.photos_in_all);
    existing.reveal_at := case when not coalesce($9, false) then coalesce($8, existing.reveal_at) end;
    existing.keep_original := coalesce($10, existing.keep_original);
    existing.qualities := coalesce($11, existing.qualities);
    existing.max_edge := coalesce($12, existing.max_edge);
    existing.kept_days := coalesce($13, existing.kept_days);
    is_pending := existing.reveal_at is not null and existing.revealed_at is null;
    perform events.check_event(
        'edit', existing.title, existing.starts_at, existing.ends_at, existing.photos_each, existing.photos_in_all,
        case when is_pending then existing.reveal_at end, existing.keep_original, existing.qualities, existing.max_edge,
        existing.kept_days);
    update events.event
    set title = existing.title, starts_at = existing.starts_at, ends_at = existing.ends_at,
        photos_each = existing.photos_each,
        photos_in_all = existing.photos_in_all, reveal_at = existing.reveal_at, keep_original = existing.keep_original,
        qualities = existing.qualities, max_edge = existing.max_edge, kept_days = existing.kept_days,
        changes = changes + 1
    where id = $1;
    if num_nonnulls($4, $13) > 0
        and (select purge_at from events.event_status where id = $1) <= clock_timestamp()
    then
        raise exception 'edit: %: expected one with which the event is kept, got %',
            case when $13 is null then 'starts_at' else 'kept_days' end, coalesce($13::text, $4::text)
            using errcode = 'ER422', hint = 'events.delete purges an event at once.';
    end if;
    perform events.tell($1, 'edited');
    if is_pending then
        perform events.check_reveal('edit', $1);
        perform events.enqueue_reveal($1, existing.reveal_at);
        unfinished := array(
            select target.id from events.archive as target where target.event_id = $1 and target.made_at is null);
        if unfinished <> '{}' and existing.reveal_at > clock_timestamp() then
            perform events.remove_archives(unfinished, 'its photos are hidden until their reveal');
            perform errand.enqueue('object_removal');
        end if;
    elsif $9 then
        perform events.cancel_reveal($1, 'its host has taken the reveal back');
    end if;
    return 'edited';
end
$$;
