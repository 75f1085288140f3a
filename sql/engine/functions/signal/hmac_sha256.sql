-- hmac_sha256: returns the HMAC-SHA256 (RFC 2104) of a message, with a key of at most 64 bytes.
create or replace function errand_internal.hmac_sha256(message bytea, key bytea) returns bytea
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    select sha256(pads.outer_pad || sha256(pads.inner_pad || message))
    from (
        select
            string_agg(set_byte(zero, 0, octet # 54), '' order by index) as inner_pad,
            string_agg(set_byte(zero, 0, octet # 92), '' order by index) as outer_pad
        from (values (decode('00', 'hex'))) as constant(zero)
        cross join generate_series(0, 63) as index
        cross join lateral (
            select case when index < octet_length(key) then get_byte(key, index) else 0 end as octet
        ) as padded
    ) as pads
$$;
