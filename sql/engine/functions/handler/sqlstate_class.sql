-- sqlstate_class: what becomes of a job whose SQL function raises an error with this SQLSTATE.
--
--   retried     the attempt counts, and another one follows if any is left
--   permanent   the job fails at once: class 22 (a value that can't be processed), 0A000, P0004 (a failed assert), and
--               ER413 and ER422 of errand.enqueue and others
--   uncounted   the job runs again after a second: the server, or another transaction, was the cause
--
--   select errand.sqlstate_class('40P01');
-- errand: for enqueuer, ops
-- errand: topic handlers
create or replace function errand.sqlstate_class(sqlstate text) returns text
language sql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select case
        when sqlstate ~ '^(08|40|53|57P|58)' or sqlstate in ('55P03', '55006', '25006') then 'uncounted'
        when sqlstate ~ '^22' or sqlstate in ('0A000', 'P0004', 'ER413', 'ER422') then 'permanent'
        else 'retried'
    end
$$;
