-- signal: wakes the jobs that wait for this name, and those that will within 7 days. Returns whether it is the first
-- signal of this login with the name: a second one changes nothing.
--
--   select errand.signal('approval/17', '{"approved": true}');
--
-- A job that waits gets the payload, at most 256 KB as text. A wait names the role whose members may send the signal,
-- by default the login that the job belongs to; errand_ops may always. A name has up to 200 characters, and doesn't
-- begin with callback/, as those of errand.callback do.
--
-- Raises ER422 for a name or a payload that is none, and ER413 for a larger payload.
-- errand: for worker, enqueuer, ops
-- errand: topic signals
create or replace function errand.signal(name text, payload jsonb default '{}') returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    perform errand_internal.check_name('signal', signal.name);
    if starts_with(signal.name, 'callback/') then
        raise exception 'signal: name: expected one that does not begin with callback/, got %',
            quote_literal(left(signal.name, 120))
            using errcode = 'ER422', hint = 'The server that got the job calls back with its token: errand.callback.';
    elsif signal.payload is null then
        raise exception 'signal: payload: expected JSON, got null' using errcode = 'ER422';
    elsif errand_internal.output_problem(signal.payload) is not null then
        raise exception 'signal: payload: expected at most 262144 bytes as text, got more'
            using errcode = 'ER413', hint = 'Store the data and put its key into the payload.';
    end if;
    return errand_internal.send_signal(signal.name, signal.payload, session_user);
end
$$;
