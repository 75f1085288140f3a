-- refuse_state: trigger function that refuses an update that would leave a job without what its state needs, or with
-- what it must not have. Nothing would claim, promote or release such a job.
--
-- A check of the table would be compiled for each insert too: 25 us. What inserts jobs sets the state and the position
-- by one condition.
create or replace function errand_internal.refuse_state() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    raise exception 'job %: expected a position if it is available or running, what it waits for if it is parked, and '
        'neither if it is scheduled, got the state %, the position % and %',
        new.id, quote_nullable(new.state), coalesce(new.queue_position::text, 'null'), quote_nullable(new.parked_for)
        using errcode = 'check_violation';
end
$$;

-- Only if it is missing, because its creation locks the table. By its name it is called after job_requeue, which draws
-- positions.
do $do$
begin
    if not exists (select from pg_trigger where tgrelid = 'errand.job'::regclass and tgname = 'job_state') then
        create trigger job_state
        before update of state, queue_position, parked_for on errand.job
        for each row when (
            not (
                new.queue_position is not null and new.parked_for is null and new.state in ('available', 'running')
                or new.queue_position is null and new.parked_for is null and new.state = 'scheduled'
                or new.queue_position is null and new.parked_for is not null and new.state = 'parked'))
        execute function errand_internal.refuse_state();
        comment on trigger job_state on errand.job is 'Refuses a state without what it needs';
    end if;
end
$do$;
