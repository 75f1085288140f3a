-- callback_mac: returns what ends the callback token of an attempt: the first half of a MAC of its beginning, as hex.
-- errand: after hmac_sha256
create or replace function errand_internal.callback_mac(attempt text) returns text
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    select left(encode(errand_internal.hmac_sha256(convert_to(attempt, 'UTF8'), key), 'hex'), 32)
    from errand.callback_key
$$;
