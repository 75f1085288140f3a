-- retry_delay: returns the delay in milliseconds after a failed attempt of a SQL function: 0 to 2 s, doubled with each
-- attempt, up to 1 h (full jitter, as a program's handlers have by default).
create or replace function errand_internal.retry_delay(attempt int) returns bigint
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select (random() * 1000 * least(3600, 2 ^ least(attempt, 12)))::bigint
$$;
