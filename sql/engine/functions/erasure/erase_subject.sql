-- erase_subject: removes a user's jobs from the queue: those whose subject is the user. For functions of apps; no role
-- may call it.
--
-- Unfinished ones are cancelled, and failed ones discarded. So are signals that they wait for or have got, and their
-- callbacks. All are blanked by errand_internal.blank_jobs, and errand.undo brings nothing of them back. Schedules with
-- that subject are dropped. Batches of which a callback has it lose name, properties and callbacks. Other jobs stay as
-- they are, whatever they mention.
--
-- Returns the number of changed rows. Raises ER409 while a job of the user is on its way to another cell.
-- errand: after blank_jobs
create or replace function errand_internal.erase_subject(subject text, reason text) returns bigint
-- A plan from when the tables were empty would read all of them forever.
language plpgsql set search_path = pg_catalog, errand, pg_temp set jit = off set enable_seqscan = off as $$
#variable_conflict use_column
declare
    changed bigint := 0;
    callbacks bigint;
    schedule text;
    periods bigint;
begin
    if exists (select from errand.outgoing cross join lateral unnest(jobs) as job where job.subject = $1) then
        raise exception 'erase: user_id: expected a user whose jobs are in this cell, got one with jobs on their way '
            'to another cell'
            using errcode = 'ER409', hint = 'Let `errand cells move` finish, then call it again, on that cell too.';
    end if;
    -- Signals that the user's jobs wait for or have got, whose payload may be theirs.
    delete from errand.signal
    where name in (
            select waits.name from errand.signal_wait as waits join errand.job on job.id = waits.job_id
            where job.subject = $1)
        or id in (
            select (ended.options #>> '{signal,id}')::bigint
            from (
                select options from errand.job where subject = $1
                union all
                select options from errand.failed where subject = $1
                union all
                select options from errand.history where subject = $1) as ended);
    get diagnostics changed = row_count;
    delete from errand.signal
    where job_id = any (array(
        select id from errand.job where subject = $1
        union all
        select id from errand.failed where subject = $1
        union all
        select id from errand.history where subject = $1));
    get diagnostics callbacks = row_count;
    changed := changed + callbacks;
    update errand.batch
    set name = 'erased', on_success = null, on_finish = null, on_failure = null, properties = null
    where $1 in (on_success ->> 'subject', on_finish ->> 'subject', on_failure ->> 'subject');
    get diagnostics callbacks = row_count;
    changed := changed + callbacks;
    -- First: they would enqueue more.
    for schedule in select name from errand.schedule as existing where existing.subject = $1 order by name loop
        perform errand.drop_schedule(schedule);
        changed := changed + 1;
    end loop;
    -- Keys outlive their jobs.
    delete from errand.unique_period where unique_period.subject = $1;
    get diagnostics periods = row_count;
    changed := changed + periods;
    loop
        perform errand.cancel(array(select id from errand.job where subject = $1), $2);
        perform errand.discard(array(select id from errand.failed where subject = $1), $2);
        -- A failure is on record for longer than its job.
        changed := changed + errand_internal.blank_jobs(
            array(
                select id from errand.history where subject = $1
                union
                select job_id from errand.past_failure where subject = $1),
            $2);
        -- Some may have been retried in between.
        exit when not exists (select from errand.job where subject = $1)
            and not exists (select from errand.failed where subject = $1);
    end loop;
    -- errand.undo brings nothing back.
    delete from errand.action_change
    where action_change.subject = $1
        or job_id is null and $1 in (was ->> 'subject', became ->> 'subject');
    return changed;
end
$$;
