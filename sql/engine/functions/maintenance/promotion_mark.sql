-- promotion_mark: returns when the last promoted job was due, or an early time if that isn't known; the present if it
-- is from before the server's clock was set back.
create or replace function errand_internal.promotion_mark() returns timestamptz
language sql set search_path = pg_catalog, errand, pg_temp as $$
    select least(
        now(), timestamptz 'epoch' + coalesce(pg_sequence_last_value('errand.promoted_upto'), 0) * interval '1 us')
$$;
