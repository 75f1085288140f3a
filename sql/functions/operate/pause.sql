-- pause: from now on nothing is claimed from a queue, until errand.resume. What runs already goes on.
--
--   select errand.pause('images', 'storage is being moved');
create or replace function errand.pause(queue text, reason text) returns void
language sql security definer set search_path = pg_catalog, errand, pg_temp as $$
    insert into errand.queue as known (name, paused_at, paused_reason)
    values (queue, now(), reason)
    on conflict (name) do update
    set paused_at = coalesce(known.paused_at, excluded.paused_at), paused_reason = excluded.paused_reason
$$;
comment on function errand.pause(text, text) is
    'Nothing is claimed from the queue until errand.resume. Example: select errand.pause(''images'', ''storage moves'')';
