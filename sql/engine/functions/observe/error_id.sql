-- error_id: returns the short id of similar errors: the first 32 bits of a keyed hash of their
-- errand_internal.fingerprint.
--
-- Logs have it instead of the error's text, and errand.failures has both. A fingerprint may hold words of users.
-- With the key, which is in errand.home and which no role may read, a reader of logs can't confirm a guess of them.
-- errand: for ops, monitor
create or replace function errand_internal.error_id(fingerprint text, key uuid) returns text
language sql immutable parallel safe security definer set search_path = pg_catalog, errand, pg_temp as $$
    select left(encode(sha256(convert_to(concat(key, ' ', fingerprint), 'UTF8')), 'hex'), 8)
$$;
