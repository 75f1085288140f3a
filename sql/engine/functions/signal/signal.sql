-- signal: wakes the jobs that wait for this name, and those that will within 7 days. Returns whether it is the first
-- signal of this login with the name: a second one changes nothing.
--
--   select errand.signal('approval/17', '{"approved": true}');
--
-- A job that waits gets the payload, at most 256 KB as text. A wait names the role whose members may send the signal,
-- by default the login that the job belongs to; errand_ops may always. A name has up to 200 characters.
--
-- Raises ER422 for a name or a payload that is none, and ER413 for a larger payload.
-- errand: for worker, enqueuer, ops
-- errand: topic signals
create or replace function errand.signal(name text, payload jsonb default '{}') returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    is_first boolean;
begin
    perform errand_internal.check_signal_name('signal', signal.name);
    if signal.payload is null then
        raise exception 'signal: payload: expected JSON, got null' using errcode = 'ER422';
    elsif errand_internal.output_problem(signal.payload) is not null then
        raise exception 'signal: payload: expected at most 262144 bytes as text, got more'
            using errcode = 'ER413', hint = 'Store the data and put its key into the payload.';
    end if;
    insert into errand.signal (name, payload)
    values (signal.name, signal.payload)
    on conflict on constraint signal_name do nothing;
    is_first := found;
    if is_first and current_setting('transaction_isolation') = 'read committed' then
        perform errand_internal.release_waits(array(
            select job_id from errand.signal_wait as waits where waits.name = signal.name order by job_id));
    elsif is_first then
        -- An older snapshot doesn't show all waits.
        insert into errand.signal_check (name) values (signal.name);
    end if;
    return is_first;
end
$$;
