-- undo: takes an action of errand.audit back: jobs and settings are as they were before it.
--
--   select * from errand.undo(17, dry_run => true);
--   select * from errand.undo(17, reason => 'the wrong customer');
--
-- It undoes what cancels, discards, retries, edits or reschedules jobs, bulk actions, limits, rates, retention, pauses,
-- circuits, drains, schedules, and another undo, for 7 days. Only what is as the action left it changes. Returns a row
-- for each job and each setting, with its state or values now and after it. Where undone is false, a note says why: it
-- runs or has run, was changed since, or another job has its unique key.
--
-- A cancelled job waits again for what it waited for. One that was running is available, and that attempt isn't
-- counted. Jobs that waited for one of these, and that its end has released or cancelled, wait again unless they have
-- started: a note says so. A job that comes back gets the last position of its queue. A discarded one that blocked its
-- order key does so no more.
--
-- Raises ER404 for an unknown action, ER409 for one that is older or can't be undone, or goes on, ER422 for a reason
-- that is empty.
-- errand: for ops
-- errand: topic undo, retry, cancel
create or replace function errand.undo(audit_id bigint, reason text default null, dry_run boolean default false)
returns table (job_id bigint, setting text, undone boolean, was text, now text, note text)
language plpgsql security definer
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
#variable_conflict use_column
declare
    most constant int := 1000;
    existing errand.action;
    until timestamptz;
    action_id bigint;
    part record;
    ids bigint[];
    was_in text[];
    is_in text[];
    old jsonb[];
    states text[];
    found_at timestamptz[];
    is_child boolean[];
    whys text[];
    current jsonb;
    back bigint[] := '{}';
    ended bigint[] := '{}';
    settings int := 0;
begin
    if undo.reason is not null then
        perform errand_internal.check_reason('undo', undo.reason);
    end if;
    select * into existing from errand.action where id = undo.audit_id;
    until := errand_internal.undo_until(existing);
    if existing.id is null then
        raise exception 'undo: audit_id: expected one of errand.audit, got %', coalesce(undo.audit_id::text, 'null')
            using errcode = 'ER404';
    elsif until is null then
        raise exception 'undo: action %: expected one that can be undone, got %', existing.id, existing.action
            using errcode = 'ER409', hint = 'select * from errand.help(''undo'') says which.';
    elsif until < now() then
        raise exception 'undo: action %: expected one of the last 7 days, got one of %', existing.id, existing.done_at
            using errcode = 'ER409';
    elsif exists (select from errand.bulk where bulk.action_id = existing.id and ended_at is null) then
        raise exception 'undo: action %: expected one that has ended, got a bulk action that goes on', existing.id
            using errcode = 'ER409',
            hint = format(
                'select errand.stop_bulk(%s, ''reason'');',
                (select id from errand.bulk where bulk.action_id = existing.id));
    end if;
    if not dry_run then
        action_id := nextval('errand.action_id_seq');
        -- Ended jobs first, then keys and jobs, in the order in which all sessions lock them.
        perform
        from errand.failed
        where id in (select change.job_id from errand.action_change as change where change.action_id = existing.id)
        order by id
        for update;
        perform
        from errand.history as ended
        join (
            select job_id, coalesce((became ->> 'finished_at')::timestamptz, existing.done_at) as since
            from errand.action_change as change
            where change.action_id = existing.id and coalesce(is_in, 'history') = 'history') as change
            on change.job_id = ended.id and ended.finished_at >= change.since
        where ended.state = 'cancelled'
        order by ended.id
        for update of ended;
        perform
        from errand.job
        where id in (select change.job_id from errand.action_change as change where change.action_id = existing.id)
        order by coalesce(unique_key, waiting_key), id
        for update;
    end if;
    select
        array_agg(judged.job_id), array_agg(judged.was_in), array_agg(judged.is_in), array_agg(judged.was),
        array_agg(judged.state), array_agg(judged.found_at), array_agg(judged.is_child), array_agg(judged.why)
    into ids, was_in, is_in, old, states, found_at, is_child, whys
    from (select * from errand_internal.judge_undo(existing.id) order by job_id) as judged;
    if not dry_run then
        for part in
            select
                one.was_in, one.is_in, array_agg(one.id order by one.id) as ids,
                array_agg(one.old order by one.id) as old,
                min(one.found_at) as since
            from (
                select
                    judged.*,
                    row_number() over (
                        partition by judged.was_in, judged.is_in, starts_with(judged.old ->> 'parked_for', 'job:')
                        order by judged.id) as nth
                from unnest(ids, was_in, is_in, old, found_at, whys)
                    as judged(id, was_in, is_in, old, found_at, why)
                where judged.why is null) as one
            group by one.was_in, one.is_in, starts_with(one.old ->> 'parked_for', 'job:'), one.nth / most
            -- Jobs that wait for others come last.
            order by
                starts_with(one.old ->> 'parked_for', 'job:') is true, one.was_in = 'job', one.is_in = 'job',
                min(one.id)
        loop
            perform errand_internal.undo_jobs(action_id, part.was_in, part.is_in, part.ids, part.old, part.since);
            back := back || part.ids;
            if part.is_in = 'job' and part.was_in <> 'job' then
                ended := ended || part.ids;
            end if;
        end loop;
        perform errand_internal.parents_ended(ended);
    end if;
    return query
    select
        one.id, null::text, one.why is null, one.state,
        case
            when one.why is not null then one.state
            when not dry_run then coalesce(live.state, one.old ->> 'state', 'failed')
            when one.was_in = 'failed' then 'failed'
            when one.old ->> 'state' = 'running' then 'available'
            else coalesce(one.old ->> 'state', one.state)
        end,
        coalesce(one.why, case when one.is_child then 'it waited for job ' || substr(one.old ->> 'parked_for', 5) end)
    from unnest(ids, was_in, old, states, is_child, whys) as one(id, was_in, old, state, is_child, why)
    left join errand.job as live on live.id = one.id
    order by one.id;
    for part in
        select change.*
        from errand.action_change as change
        where change.action_id = existing.id and change.job_id is null
    loop
        job_id := null;
        setting := part.was_in || (
            select string_agg(' ' || one.value, '' order by one.name)
            from jsonb_each_text(part.key) as one(name, value));
        current := errand_internal.setting(part.was_in, part.key, locks => not dry_run);
        note := null;
        if current is distinct from part.became then
            note := 'it has changed since';
        elsif not dry_run then
            perform errand_internal.undo_setting(part.was_in, part.key, part.was);
            perform errand_internal.note_setting(action_id, part.was_in, part.key, current);
            settings := settings + 1;
        end if;
        undone := note is null;
        was := current::text;
        now := case when note is null then part.was else current end::text;
        return next;
    end loop;
    if back <> '{}' or settings > 0 then
        perform errand_internal.record_action(
            'undo', jsonb_build_object('action', existing.id, 'undone', existing.action), undo.reason, back, action_id);
    end if;
end
$$;
