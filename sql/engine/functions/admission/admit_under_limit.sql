-- admit_under_limit: returns whether a job that is about to be claimed may run under its limit, and gives it a slot.
-- Null: it stays in the queue, because another session holds the limits' lock, or this claim has taken as many jobs of
-- limits as its worker starts at once (errand.begin_left).
--
-- A job that has got a slot at its position may run, unless another job has got that slot since. Otherwise the parked
-- jobs of the limit that come before it get their slots first. If the limit is full, the job takes the slot of a job
-- that waits behind it (errand.swap_slot).
-- Costs 2 us for each job that runs under the key.
create or replace function errand.admit_under_limit(job errand.job) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    bound errand.limit := errand.bound_of(job.limit_key);
    most int;
    highest int;
    own int;
    begin_left int := nullif(current_setting('errand.begin_left', true), '')::int;
begin
    if bound.max_running is null then
        return true;
    elsif begin_left <= 0 then
        perform set_config(
            'errand.admission_incomplete',
            least(nullif(current_setting('errand.admission_incomplete', true), ''), 'slots'), true);
        return null;
    elsif not errand.lock_limits() then
        perform set_config('errand.admission_incomplete', 'more', true);
        return null;
    end if;
    bound := errand.bound_of(job.limit_key);
    most := bound.max_running;
    if most is null then
        return true;
    elsif not bound.has_slots then
        -- It parks. Housekeeping gives the slots, and releases it.
        return false;
    end if;
    highest := errand.highest_slot(job.limit_key);
    select held.slot into own
    from errand.limit_slot as held
    where held.job_id = job.id and held.limit_key = job.limit_key and held.queue_position = job.queue_position
        and held.slot > 0
        and not exists (
            select
            from errand.limit_slot as newer
            where newer.limit_key = held.limit_key and newer.slot = held.slot and newer.admitted_at > held.admitted_at);
    if own is null then
        own := coalesce((errand.release_limit(job.limit_key, job))[1], errand.swap_slot(job, most));
        if own is null then
            return false;
        end if;
    elsif highest > most
        and most <= (
            select count(*)
            from errand.taken_slots(job.limit_key) as taken
            where taken.slot <> own and (taken.is_running or taken.slot < own))
    then
        -- The limit was lowered since. The job may run while fewer jobs run or wait in slots of lower numbers.
        delete from errand.limit_slot as held where held.job_id = job.id and held.limit_key = job.limit_key;
        return false;
    end if;
    -- Also if it has the slot already: it may have waited for more than a second, and the next job of this claim must
    -- find the slot taken.
    perform errand.take_slots(array[job.limit_key], array[own], array[job.id], array[job.queue_position]);
    perform set_config('errand.begin_left', (begin_left - 1)::text, true);
    return true;
end
$$;
