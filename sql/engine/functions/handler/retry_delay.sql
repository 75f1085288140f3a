-- retry_delay: returns the delay after a failed attempt of a kind: a random one up to the bound of the attempt. Without
-- bounds of its own (errand.put_kind) that is 2 s, doubled with each attempt, up to 1 h.
--
-- Drawn evenly from 0 (full jitter, where the kind says no other): of all ways to spread retries that gives the lowest
-- load when many jobs fail together (Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
create or replace function errand_internal.retry_delay(kind text, attempt int) returns interval
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    select coalesce(bounds[least(attempt, cardinality(bounds))], least(3600, 2 ^ least(attempt, 12)) * interval '1 s')
        * (1 - jitter + random() * jitter)
    from (select) as one
    left join errand.kind on kind.name = retry_delay.kind
    cross join lateral (select kind.retry_delays, coalesce(kind.retry_jitter, 1)) as policy(bounds, jitter)
$$;
