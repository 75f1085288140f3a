-- admit_job: returns whether a job that is about to be claimed may run now. If not, it leaves the queue here: as
-- obsolete if it is too late or its guard says no, as parked if its kind is paused, its dependency is down or its limit
-- is full.
--
-- The claim calls it in its scan, with the job's row locked, for jobs with such an option and for the kinds in
-- `checked`. The setting errand.blocked_jobs counts the jobs that left, so that the claim can stop. If nobody can tell
-- whether a job may run, it stays in the queue, and errand.admission_incomplete is `more`: another session holds the
-- limits' lock, or this claim's guards have taken 250 ms. If a job under a limit may not start at once, it stays too,
-- and the setting is `slots`.
create or replace function errand.admit_job(job_id bigint, checked text[]) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    asked errand.job;
    needed text;
    wanted boolean;
    admitted boolean;
    problem text;
begin
    select * into asked from errand.job where id = admit_job.job_id;
    if asked.kind = any (checked) then
        -- The probe may run while the dependency is down.
        select coalesce(asked.limit_key, kind.limit_key), down.name into asked.limit_key, needed
        from errand.kind
        left join errand.dependency as down
            on down.name in (kind.dependency, 'kind:' || kind.name) and down.opened_at is not null
                and (down.probe_job_id, down.probe_position) is distinct from (asked.id, asked.queue_position)
        where kind.name = asked.kind;
    end if;
    if asked.not_after < now() then
        perform errand.move_to_history(asked, 'obsolete', null, 'not started by ' || asked.not_after);
    elsif needed is not null then
        perform errand.park(asked.id, 'dependency:' || needed);
    else
        if asked.guard is not null then
            if not errand.has_time_for(asked.guard) then
                perform set_config('errand.admission_incomplete', 'more', true);
                return false;
            end if;
            begin
                wanted := errand.ask_guard(
                    asked.guard, coalesce(asked.payload, errand.large_payload(asked.payload_day, asked.id)));
            exception
                -- An error of a guard costs its own job an attempt. `others` does not include a failed assertion.
                when others or assert_failure then
                    problem := format('guard %s: %s [%s]', asked.guard, sqlerrm, sqlstate);
            end;
        end if;
        if problem is not null then
            perform errand.guard_failed(asked, problem);
        elsif not wanted then
            perform errand.move_to_history(asked, 'obsolete', null, format('guard %s said no', asked.guard));
        else
            admitted := asked.limit_key is null or errand.admit_under_limit(asked);
            if admitted is null then
                return false;
            elsif admitted then
                return true;
            end if;
            perform errand.park(asked.id, 'limit:' || asked.limit_key);
            -- Its slot went to others while it waited for a worker. It doesn't wait behind its whole queue again.
            update errand.job set is_handed_back = true
            where id = asked.id
                and exists (
                    select
                    from errand.limit_slot as held
                    where held.job_id = asked.id and held.limit_key = asked.limit_key
                        and held.queue_position = asked.queue_position);
            perform errand.lower_mark(asked.limit_key, asked.priority, asked.run_at, asked.id);
        end if;
    end if;
    perform set_config(
        'errand.blocked_jobs',
        (coalesce(nullif(current_setting('errand.blocked_jobs', true), ''), '0')::int + 1)::text, true);
    return false;
end
$$;
