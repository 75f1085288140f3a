-- send_signal: stores a signal, and wakes the jobs that wait for it. Returns whether it is the first of this login with
-- the name: a second one changes nothing. job_id is the job whose callback it is.
create or replace function errand_internal.send_signal(
    name text, payload jsonb, login text, job_id bigint default null
) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    is_first boolean;
begin
    insert into errand.signal (name, payload, login, job_id)
    values (send_signal.name, send_signal.payload, send_signal.login, send_signal.job_id)
    on conflict on constraint signal_name do nothing;
    is_first := found;
    if is_first and current_setting('transaction_isolation') = 'read committed' then
        perform errand_internal.release_waits(array(
            select job_id from errand.signal_wait as waits where waits.name = send_signal.name order by job_id));
    elsif is_first then
        -- An older snapshot doesn't show all waits.
        insert into errand.signal_check (name) values (send_signal.name);
    end if;
    return is_first;
end
$$;
