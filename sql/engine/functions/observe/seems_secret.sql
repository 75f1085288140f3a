-- seems_secret: returns whether the name of a field says that its value is a secret, whatever the database's locale: in
-- Turkish the small letter of I is another than i.
--
--   select errand.seems_secret('api_key');
-- errand: for ops, monitor
-- errand: topic find
create or replace function errand.seems_secret(name text) returns boolean
language sql immutable parallel safe security definer set search_path = pg_catalog, errand, pg_temp as $$
    select lower(name collate "C") ~ (
        'passw|passphrase|secret|token|credential|authorization|cookie|session|signature|jwt|bearer|private'
        '|(api|access|auth|encryption|signing)[_.-]?key|^key$|^pwd$|^pin$|^otp$|^cvv$|iban|card[_.-]?number')
$$;
