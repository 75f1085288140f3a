-- notify: sends a NOTIFY at commit, unless the transaction has set errand.notify to off.
--
--   set local errand.notify = off;
--
-- PostgreSQL refuses PREPARE TRANSACTION after a NOTIFY. Without it, workers find new jobs by their probes, and learn
-- of cancelled ones at their next heartbeat. Raises ER422 for another value than on or off.
create or replace function errand_internal.notify(channel text, payload text) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    -- Empty once the transaction is over that has set it.
    given constant text := coalesce(nullif(current_setting('errand.notify', true), ''), 'on');
begin
    if lower(given collate "C") in ('off', 'false', 'no', '0') then
        return;
    elsif lower(given collate "C") not in ('on', 'true', 'yes', '1') then
        raise exception 'errand.notify: expected on or off, got %', quote_literal(left(given, 100))
            using errcode = 'ER422';
    end if;
    perform pg_notify(channel, payload);
end
$$;
