-- admit: whether a job that is about to be claimed may run under its limit; if so it has a slot from now on. Null where
-- another session holds the limits' lock: then nobody knows.
--
-- One that was put in line with a slot may. For others, those go first that wait for the limit and come before it. One
-- that finds the limit full takes the slot of a job that waits behind it in line (errand.swap_slot). Costs 2 us for
-- each job that runs under the key.
create or replace function errand.admit_under_limit(job errand.job) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    most int;
    highest int;
    own int;
    free int[];
begin
    if not errand.lock_limits() then
        return null;
    end if;
    most := errand.limit_of(job.limit_key);
    highest := errand.highest_slot(job.limit_key);
    select held.slot into own
    from errand.limit_slot as held
    where held.job_id = job.id and held.limit_key = job.limit_key and held.queue_position = job.queue_position;
    if own is not null then
        -- Where the limit was lowered since: it may as long as fewer run, or wait in slots of lower numbers.
        if most is null or highest <= most
            or most > (
                select count(*)
                from errand.taken_slots(job.limit_key) as taken
                where taken.slot <> own and (taken.is_running or taken.slot < own))
        then
            return true;
        end if;
        delete from errand.limit_slot as held where held.job_id = job.id and held.limit_key = job.limit_key;
        return false;
    end if;
    if most is null then
        perform errand.take_slot(job.limit_key, errand.slot_to_reuse(job.limit_key, highest), job.id, job.queue_position);
        return true;
    end if;
    free := errand.release_limit(job.limit_key, job);
    if cardinality(free) = 0 then
        return errand.swap_slot(job, most);
    end if;
    perform errand.take_slot(job.limit_key, free[1], job.id, job.queue_position);
    return true;
end
$$;
comment on function errand.admit_under_limit(errand.job) is 'Whether a job may run now under its limit; if so it has a slot';
