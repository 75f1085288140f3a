-- pause: pauses a queue until errand.resume or the given time: no worker claims from it. Running jobs go on.
--
--   select errand.pause('images', 'storage is being moved');
--   select errand.pause('images', 'storage is being moved', until => now() + interval '2 hours');
--
-- A paused queue stays paused since then, with the new reason and time. force => true also pauses a queue that no job,
-- kind or worker has named so far. Raises ER404 for such a queue without it, ER422 without a reason, for an invalid
-- name, and for a time in the past or more than 10 years away.
-- errand: for ops
-- errand: topic pause
create or replace function errand.pause(
    queue text, reason text, until timestamptz default null, force boolean default false
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    perform errand_internal.check_reason('pause', pause.reason);
    perform errand_internal.check_known_queue('pause', pause.queue, pause.force);
    if pause.until <= now() then
        raise exception 'pause: until: expected a time in the future, got %', pause.until using errcode = 'ER422';
    end if;
    perform errand_internal.check_time(pause.until, 'pause', 'until');
    insert into errand.queue as known (name, paused_at, paused_reason, paused_until, paused_by)
    values (pause.queue, now(), pause.reason, pause.until, session_user)
    on conflict (name) do update
    set
        paused_at = coalesce(known.paused_at, excluded.paused_at), paused_reason = excluded.paused_reason,
        paused_until = excluded.paused_until, paused_by = excluded.paused_by;
    perform errand_internal.record_action(
        'pause', jsonb_strip_nulls(jsonb_build_object('queue', pause.queue, 'until', pause.until)), pause.reason);
end
$$;
