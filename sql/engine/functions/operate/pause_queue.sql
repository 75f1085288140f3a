-- pause_queue: pauses a queue until errand.resume_queue or the given time: no worker claims from it. Running jobs go
-- on.
--
--   select errand.pause_queue('images', 'storage is being moved');
--   select errand.pause_queue('images', 'storage is being moved', until => now() + interval '2 hours');
--
-- A paused queue stays paused since then, with the new reason and time. force => true also pauses a queue that no job,
-- kind or worker has named so far. Raises ER404 for such a queue without it, ER422 without a reason, for an invalid
-- name, and for a time in the past or more than 10 years away.
-- errand: for ops
-- errand: topic pause
create or replace function errand.pause_queue(
    queue text, reason text, until timestamptz default null, force boolean default false
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('name', pause_queue.queue);
    was constant jsonb := errand_internal.setting('queue', key);
begin
    perform errand_internal.check_reason('pause_queue', pause_queue.reason);
    perform errand_internal.check_known_queue('pause_queue', pause_queue.queue, pause_queue.force);
    if pause_queue.until <= now() then
        raise exception 'pause_queue: until: expected a time in the future, got %', pause_queue.until
            using errcode = 'ER422';
    end if;
    perform errand_internal.check_time(pause_queue.until, 'pause_queue', 'until');
    insert into errand.queue as existing (name, paused_at, paused_reason, paused_until, paused_by)
    values (pause_queue.queue, now(), pause_queue.reason, pause_queue.until, session_user)
    on conflict (name) do update
    set
        paused_at = coalesce(existing.paused_at, excluded.paused_at), paused_reason = excluded.paused_reason,
        paused_until = excluded.paused_until, paused_by = excluded.paused_by;
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'pause_queue',
            jsonb_strip_nulls(jsonb_build_object('queue', pause_queue.queue, 'until', pause_queue.until)),
            pause_queue.reason),
        'queue', key, was);
end
$$;
