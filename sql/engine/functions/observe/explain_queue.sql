-- explain_queue: for errand.explain: obstacles in the queue: a pause, no worker, only drained ones, or none with this
-- kind.
create or replace function errand_internal.explain_queue(
    job errand.job
) returns table (code text, detail text, hint text)
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    paused errand.queue;
    names text;
    drained bigint[];
begin
    select * into paused from errand.queue where name = job.queue and paused_at is not null;
    if found then
        code := 'paused';
        detail := format(
            'the queue %s is paused since %s%s%s: %s', job.queue, paused.paused_at, ' by ' || paused.paused_by,
            ' until ' || paused.paused_until, coalesce(paused.paused_reason, 'no reason given'));
        hint := format('select errand.resume_queue(%L)', job.queue);
        return next;
    end if;
    select
        string_agg(distinct name, ', ') filter (where drained_at is null),
        array_agg(id order by id) filter (where drained_at is not null)
    into names, drained
    from errand.worker
    where job.queue = any (queues) and heartbeat_at + lease > now();
    if names is null and drained is not null then
        code := 'no_worker';
        detail := format('all live workers of the queue %s are drained: %s', job.queue, (
            select string_agg(format('%s (%s)', name, drained_reason), ', ' order by id)
            from errand.worker
            where id = any (drained[1:3])));
        hint := format('select errand.undrain_worker(%s)', drained[1]);
        return next;
    elsif names is null then
        code := 'no_worker';
        detail := format('no live worker claims from the queue %s', job.queue);
        select string_agg(distinct queue, ', ') into names
        from errand.worker, unnest(queues) as queue
        where heartbeat_at + lease > now();
        hint := case
            when names is null then 'No worker is alive: start one.'
            else format('Live workers claim from %s: add %s=10 to the queues of one (ERRAND_QUEUES).', names, job.queue)
        end;
        return next;
    elsif not exists (
        select from errand.worker where job.queue = any (queues) and job.kind = any (kinds)
            and heartbeat_at + lease > now() and drained_at is null)
    then
        code := 'unknown_kind';
        detail := format('no live worker of the queue %s has the kind %s: %s', job.queue, job.kind, names);
        select string_agg(distinct worker.name, ', ') into names
        from errand.worker
        where job.kind = any (kinds) and heartbeat_at + lease > now();
        hint := case
            when names is not null then format(
                '%s has it, but claims from other queues: add %s=10 to its queues (ERRAND_QUEUES).', names, job.queue)
            when exists (select from errand.kind where name = job.kind) then 'Start a worker of a version that has it.'
            else 'No worker has ever registered this kind: '
                || coalesce('is it ' || array_to_string(
                    errand_internal.nearest(job.kind, array(select name from errand.kind), 3), ' or '),
                'is its name right')
                || ', or is its version not deployed yet?'
        end;
        return next;
    end if;
end
$$;
