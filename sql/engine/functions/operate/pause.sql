-- pause: pauses a queue until errand.resume or the given time: no worker claims from it. Running jobs go on.
--
--   select errand.pause('images', 'storage is being moved');
--   select errand.pause('images', 'storage is being moved', until => now() + interval '2 hours');
--
-- A paused queue stays paused since then, with the new reason and time. force => true also pauses a queue that no job,
-- kind or worker has named so far. Raises ER404 for such a queue without it, ER422 without a reason, for an invalid
-- name, and for a time in the past.
create or replace function errand.pause(
    queue text, reason text, until timestamptz default null, force boolean default false
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    known constant text[] := array(
        select 'default' union select errand.queue_names() union select unnest(queues) from errand.worker);
begin
    perform errand.check_reason('pause', pause.reason);
    if pause.queue is null or pause.queue !~ '^[a-z][a-z0-9_.-]{0,99}$' then
        raise exception 'pause: queue: expected a-z, then up to 99 of a-z 0-9 _ . -, got %',
            quote_nullable(left(pause.queue, 120)) using errcode = 'ER422';
    elsif pause.until <= now() then
        raise exception 'pause: until: expected a time in the future, got %', pause.until using errcode = 'ER422';
    elsif pause.queue <> all (known) and not coalesce(pause.force, false) then
        raise exception 'pause: queue: expected one that a job, a kind or a worker has named, got %',
            quote_literal(pause.queue)
            using errcode = 'ER404', hint = format(
                'Is it %s? force => true pauses it anyway.',
                array_to_string(errand.nearest(pause.queue, known, 3), ' or '));
    end if;
    insert into errand.queue as known (name, paused_at, paused_reason, paused_until, paused_by)
    values (pause.queue, now(), pause.reason, pause.until, session_user)
    on conflict (name) do update
    set
        paused_at = coalesce(known.paused_at, excluded.paused_at), paused_reason = excluded.paused_reason,
        paused_until = excluded.paused_until, paused_by = excluded.paused_by;
    perform errand.record_action(
        'pause', jsonb_strip_nulls(jsonb_build_object('queue', pause.queue, 'until', pause.until)), pause.reason);
end
$$;
comment on function errand.pause(text, text, timestamptz, boolean) is
    'Pauses a queue until errand.resume, or the given time. Example: select errand.pause(''images'', ''storage '
    'moves'', until => now() + interval ''1 hour'')';
