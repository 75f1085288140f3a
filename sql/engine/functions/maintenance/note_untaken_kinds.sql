-- note_untaken_kinds: notes of each kind whether a live worker that isn't drained takes it from its queue, for the
-- NOTICE of errand.enqueue. Writes only what has changed.
create or replace function errand_internal.note_untaken_kinds() returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    update errand.kind
    set untaken_since = case when untaken_since is null then now() end
    where ctid = any (array(
        select changed.ctid
        from errand.kind as changed
        where (untaken_since is null) <> exists (
            select
            from errand.worker
            where changed.name = any (worker.kinds) and changed.queue = any (worker.queues)
                and worker.heartbeat_at + worker.lease > now() and worker.drained_at is null)
        for update skip locked));
end
$$;
