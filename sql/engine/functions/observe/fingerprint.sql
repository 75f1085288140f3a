-- fingerprint: returns an error without the parts that differ each time: quotes, ids, addresses and numbers.
--
--   select errand_internal.fingerprint('photo 6c1d…: 404 after 3 tries');
create or replace function errand_internal.fingerprint(error text) returns text
language sql immutable parallel safe set search_path = pg_catalog, errand, pg_temp as $$
    select left(
        regexp_replace(
            regexp_replace(left(error, 500), '''[^'']*''|"[^"]*"|«[^»]*»', '…', 'g'),
            E'[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\\m0x[0-9a-fA-F]+|'
                || E'\\m(?=[0-9a-fA-F]*\\d)[0-9a-fA-F]{8,}\\M|\\d+([.,:]\\d+)*',
                '#', 'g'),
        200)
$$;
