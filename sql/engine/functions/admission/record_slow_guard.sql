-- record_slow_guard: records the average time of a call of a guard whose calls, `asked` since began, have taken the
-- time that a claim or completion has for them; at most once in 10 s.
create or replace function errand_internal.record_slow_guard(guard text, began timestamptz, asked int) returns void
language sql set search_path = pg_catalog, errand, pg_temp as $$
    update errand.guard
    set slow_at = now(), slow_ms = extract(epoch from clock_timestamp() - began) * 1000 / asked
    where asked > 0 and ctid = (
        select ctid
        from errand.guard as slow
        where slow.name = record_slow_guard.guard
            and (slow.slow_at between now() - interval '10 seconds' and now()) is not true
        for update skip locked)
$$;
