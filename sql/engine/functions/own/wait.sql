-- wait: waits until a job of the caller's own has ended, up to the timeout, and returns it. For psql: a program asks
-- errand.ended, and holds no snapshot meanwhile.
--
--   select state, output, error from errand.wait(4711);
--
-- Returns the job as errand.job does, also if it has not ended. Raises ER404 for a job that isn't known or isn't the
-- caller's own, ER422 for a timeout beyond 60 s, and where it could not see the end: in a transaction that isn't READ
-- COMMITTED, or that has enqueued the job itself.
-- errand: for enqueuer, ops
-- errand: topic follow
create or replace function errand.wait(job_id bigint, timeout interval default '10 s') returns table (
    id bigint, kind text, state text, attempt int, output jsonb, error text
)
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    -- No outer transaction waits longer than this call says.
    ends constant timestamptz := clock_timestamp() + wait.timeout;
    pause double precision := 0.005;
    finished_at timestamptz;
begin
    if (wait.timeout between interval '0' and interval '60 s') is not true then
        raise exception 'wait: timeout: expected up to 60 s, got %', coalesce(wait.timeout::text, 'null')
            using errcode = 'ER422', hint = 'Call it again.';
    elsif current_setting('transaction_isolation') not in ('read committed', 'read uncommitted') then
        raise exception 'wait: expected a transaction that is READ COMMITTED, got %',
            upper(current_setting('transaction_isolation') collate "C")
            using errcode = 'ER422', hint = 'It would not see that the job ends.';
    elsif exists (
        select from errand.job as mine
        where mine.id = wait.job_id and mine.xmin::text::bigint = (
            pg_current_xact_id_if_assigned()::text::bigint & 4294967295))
    then
        raise exception 'wait: job_id: expected a job whose enqueue is committed, got %', wait.job_id
            using errcode = 'ER422', hint = 'It runs once this transaction is committed.';
    end if;
    loop
        select own.id, own.kind, own.state, own.attempt, own.output, own.error, own.finished_at
        into id, kind, state, attempt, output, error, finished_at
        from errand.job(wait.job_id) as own;
        if id is null then
            raise exception 'wait: job_id: expected a job of the caller''s own, got %',
                coalesce(wait.job_id::text, 'null') using errcode = 'ER404',
                hint = 'Enqueue it with follow => true, and wait as the same login.';
        end if;
        exit when finished_at is not null or clock_timestamp() >= ends;
        perform pg_sleep(least(pause, greatest(extract(epoch from ends - clock_timestamp()), 0)));
        pause := least(pause * 1.5, 0.25);
    end loop;
    return next;
end
$$;
