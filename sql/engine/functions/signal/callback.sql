-- callback: completes a job that its endpoint has accepted with the status 202: with an output, or with an error. The
-- token, which the endpoint got with the job, is the only right that counts.
--
--   select errand.callback('4711.1.5031.d0c6…', '{"pages": 12}');
--   select errand.callback('4711.1.5031.d0c6…', error => 'no such customer', permanent => true);
--
-- It may come before the endpoint has answered. After an error the job is retried, or fails if that is permanent.
-- Returns whether it is the first callback of the attempt: a second one changes nothing.
--
-- Raises ER404 for a token that is none, ER409 if the attempt has ended, ER413 for an output over 256 KB as text, and
-- ER422 for an error of more than 4,000 characters, an empty one, or one beside an output.
-- errand: for enqueuer, ops
-- errand: topic signals, endpoints
create or replace function errand.callback(
    token text, output jsonb default null, error text default null, permanent boolean default false
) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_variable
declare
    parts constant text[] := regexp_match(
        left(token, 200), '^(([0-9]{1,19})[.][0-9]{1,9}[.]([0-9]{1,19}))[.]([0-9a-f]{32})$');
    name constant text := 'callback/' || parts[1];
    job_id bigint;
begin
    -- Hashes, so that the time of the comparison doesn't depend on how much of the MAC is right.
    if parts is null or sha256(convert_to(parts[4], 'UTF8'))
        is distinct from sha256(convert_to(errand_internal.callback_mac(parts[1]), 'UTF8'))
    then
        raise exception 'callback: token: expected one that came with a job, got another' using errcode = 'ER404';
    end if;
    if error is not null and output is not null then
        raise exception 'callback: expected an output or an error, got both' using errcode = 'ER422';
    elsif error is not null and length(error) not between 1 and 4000 then
        raise exception 'callback: error: expected 1 to 4000 characters, got %', length(error) using errcode = 'ER422';
    elsif errand_internal.output_problem(output) is not null then
        raise exception 'callback: %', errand_internal.output_problem(output)
            using errcode = 'ER413', hint = 'Store the data and put its key into the output.';
    end if;
    job_id := parts[2]::bigint;
    if exists (select from errand.signal as sent where sent.name = name and sent.job_id = job_id) then
        return false;
    elsif not exists (
        select
        from errand.job
        -- A job whose worker has handed it back keeps its position, and its next run gets the same token.
        where job.id = job_id and (coalesce(queue_position, 0) = parts[3]::bigint or parked_for = 'signal:' || name))
    then
        raise exception 'callback: expected an attempt that has not ended, got one that has' using errcode = 'ER409';
    end if;
    return errand_internal.send_signal(
        name,
        case
            when error is null then jsonb_build_object('output', output)
            else jsonb_build_object('error', error, 'permanent', coalesce(permanent, false))
        end,
        current_user, job_id);
end
$$;
