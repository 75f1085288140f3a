-- admit: whether a job that is about to be claimed may run under its limit; if so it has a slot from now on. Null where
-- another session holds the limits' lock: then nobody knows.
--
-- Those that wait for the limit go first. Costs about 1 µs for each job that runs under the key.
create or replace function errand.admit(job errand.job) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    room int;
begin
    if not errand.lock_limits() then
        return null;
    end if;
    -- Its own slot, if it was put in line with one, is not to count against it.
    delete from errand.limit_slot as slot
    where slot.limit_key = job.limit_key and slot.job_id = job.id and slot.line = job.line
        and slot.admitted_at > clock_timestamp() - interval '5 seconds';
    if not found then
        room := errand.release_limit(job.limit_key);
        if room <= 0 then
            return false;
        end if;
    end if;
    insert into errand.limit_slot (limit_key, job_id, line, admitted_at)
    values (job.limit_key, job.id, job.line, clock_timestamp())
    on conflict on constraint limit_slot_pkey do update set line = excluded.line, admitted_at = excluded.admitted_at;
    return true;
end
$$;
comment on function errand.admit(errand.job) is 'Whether a job may run now under its limit; if so it has a slot';
