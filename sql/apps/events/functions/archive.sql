-- archive: has one archive made of all photos of an event, a ZIP file in the object store, for a participant or the
-- host.
--
--   select events.archive('6c1d…', 'user-18');
--
-- Returns making, if the archive is being made by this call or an earlier one; made, if there is one with all photos of
-- now; empty, if no photo is delivered yet; not_joined; no_event. events.archive_status shows its key. If photos were
-- delivered or removed since, another archive is made, and the earlier one stays until then.
--
-- Raises ER409 before the photos are revealed, and ER422 without a user; above READ COMMITTED, 40001 if the event has
-- changed since the transaction's snapshot.
-- errand: for enqueuer, ops
create or replace function events.archive(event_id uuid, user_id text) returns text
language plpgsql security definer set search_path = pg_catalog, events, pg_temp as $$
#variable_conflict use_column
declare
    existing events.event;
    present_contents text;
    archive uuid := gen_random_uuid();
begin
    perform errand_internal.check_user('archive', $2);
    select * into existing from events.event where id = $1 for no key update;
    if not found then
        return 'no_event';
    elsif existing.host <> $2 and not exists (
        select from events.participant where participant.event_id = $1 and participant.user_id = $2)
    then
        return 'not_joined';
    elsif existing.reveal_at > clock_timestamp() then
        raise exception 'archive: expected an event whose photos are revealed, got one that reveals them at %',
            existing.reveal_at using errcode = 'ER409';
    elsif exists (
        select
        from events.archive as target
        join errand.job on job.id = target.job_id
        where target.event_id = $1 and target.made_at is null)
    then
        return 'making';
    end if;
    present_contents := events.archive_contents($1);
    if present_contents is null then
        return 'empty';
    elsif exists (
        select
        from events.archive as target
        where target.event_id = $1 and target.made_at is not null and target.contents = present_contents)
    then
        return 'made';
    end if;
    -- One whose job has failed or was cancelled.
    perform events.remove_archives(
        array(select target.id from events.archive as target where target.event_id = $1 and target.made_at is null),
        'another archive is made');
    insert into events.archive (id, event_id, job_id, key)
    select archive, $1, enqueued.job_id, 'events/' || $1 || '/archives/' || archive || '.zip'
    from errand.enqueue(
        'event_archive', jsonb_build_object('archive', archive), queue => 'uploads', priority => 3,
        max_attempts => 5) as enqueued;
    -- A transaction with an older snapshot does not see the row. Because of this update it can't lock the event.
    update events.event set changes = changes + 1 where id = $1;
    return 'making';
end
$$;
