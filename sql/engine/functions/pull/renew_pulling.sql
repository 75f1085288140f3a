-- renew_pulling: extends the lease of a worker that pulls. Returns its row, and the tokens of running that are the
-- worker's no more. With running null nothing is checked.
--
-- Without such a worker, queues registers one. Its kinds begin with the marks that other workers of these kinds have
-- stored: errand_internal.known_marks. Each quarter of the lease the jobs that it holds are compared with running
-- (errand_internal.unlisted_jobs_v1), and records of claims that it needs no more are deleted. A lock of errand.job
-- ends no lease: after half a second nothing is compared, and the lease is extended.
create or replace function errand_internal.renew_pulling(
    worker uuid, running text[], queues text[] default null, kinds text[] default null, lease interval default null,
    label text default null, out own errand.worker, out lost text[]
)
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set lock_timeout = '500ms'
set jit = off set enable_seqscan = off set enable_bitmapscan = off set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    started constant text := errand_internal.server_start();
    ids bigint[];
    positions bigint[];
    unlisted_ids bigint[];
    handle uuid;
    is_due boolean;
    changed errand.worker;
    again record;
begin
    perform errand_internal.check_home();
    select * into own from errand.worker where pulls_as = renew_pulling.worker;
    if own.id is null then
        lost := coalesce(running, '{}');
        if renew_pulling.queues is null then
            return;
        end if;
        perform errand_internal.check_lease(renew_pulling.lease, 'pull');
        handle := gen_random_uuid();
        insert into errand.worker (
            name, version, lease, heartbeat_interval, queues, kinds, pulls_as, likeness, server_start, marks)
        values (
            left(coalesce(renew_pulling.label, nullif(current_setting('application_name'), ''), 'pull'), 200), 'pull',
            renew_pulling.lease, renew_pulling.lease / 4, renew_pulling.queues, renew_pulling.kinds,
            -- Its own likeness: no other worker relies on its probes.
            handle, hashtext(handle::text), started, errand_internal.known_marks(renew_pulling.kinds, started))
        returning * into own;
        return;
    end if;
    lost := '{}';
    is_due := (
        own.heartbeat_at between now() - own.heartbeat_interval and now()
        and (renew_pulling.queues is null or (own.queues, own.kinds, own.lease)
            = (renew_pulling.queues, renew_pulling.kinds, coalesce(renew_pulling.lease, own.lease)))
        and own.server_start = started) is not true;
    if is_due then
        perform errand_internal.check_lease(coalesce(renew_pulling.lease, own.lease), 'pull');
    end if;
    if running <> '{}' or is_due and running is not null then
        begin
            lost := array(
                select named.token
                from errand_internal.read_tokens(running) as named
                where named.id is null
                    or (
                        select existing.queue_position
                        from errand.job as existing
                        where existing.id = named.id and existing.state = 'running'
                            and existing.worker_id = own.id and named.worker_id = own.id
                    ) is distinct from named.queue_position
                order by named.index);
            if is_due then
                -- Of others, or of an earlier registration: stale.
                select
                    coalesce(array_agg(named.id) filter (where named.worker_id = own.id), '{}'),
                    coalesce(array_agg(named.queue_position) filter (where named.worker_id = own.id), '{}')
                into ids, positions
                from errand_internal.read_tokens(running) as named;
                select array_agg(unlisted.job_id), coalesce(array_agg(unlisted.queue_position), '{}')
                into unlisted_ids, own.unnamed
                from errand_internal.unlisted_jobs_v1(own.id, 1, ids, positions, own.unnamed) as unlisted
                where not unlisted.is_taken_back;
            end if;
        exception
            when lock_not_available then
                -- errand.job is locked. A pull waits for it, and keeps the lease by the lock of its worker's row.
                lost := '{}';
                ids := null;
                is_due := true;
        end;
    end if;
    if not is_due then
        return;
    end if;
    -- A worker whose row another session has locked keeps its lease: no other session can end it meanwhile.
    update errand.worker
    set heartbeat_at = now(), running = coalesce(cardinality(ids), worker.running), unnamed = own.unnamed,
        lease = coalesce(renew_pulling.lease, worker.lease),
        heartbeat_interval = coalesce(renew_pulling.lease, worker.lease) / 4,
        queues = coalesce(renew_pulling.queues, worker.queues), kinds = coalesce(renew_pulling.kinds, worker.kinds),
        server_start = started,
        marks = case
            when worker.server_start <> started or worker.kinds <> renew_pulling.kinds
                then errand_internal.known_marks(coalesce(renew_pulling.kinds, worker.kinds), started)
            else worker.marks
        end
    where id in (select same.id from errand.worker as same where same.id = own.id for update skip locked)
    returning * into changed;
    if changed.id is not null then
        own := changed;
    elsif not exists (select from errand.worker as same where same.id = own.id) then
        -- Rescued meanwhile.
        select * into again
        from errand_internal.renew_pulling(
            renew_pulling.worker, renew_pulling.running, renew_pulling.queues, renew_pulling.kinds,
            renew_pulling.lease, renew_pulling.label);
        own := again.own;
        lost := again.lost;
        return;
    elsif own.server_start <> started or own.kinds <> renew_pulling.kinds then
        own.marks := '{}';
    end if;
    delete from errand.claim
    where ctid = any (array(
        select old.ctid
        from errand.claim as old
        where ids is not null and old.worker_id = own.id and old.claimed_at < now() - interval '30 seconds'
            and not old.job_ids && (ids || unlisted_ids)
        for update skip locked));
end
$$;
