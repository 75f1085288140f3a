-- fingerprint: an error without what differs from one time to the next: quotes, ids, addresses and numbers.
--
--   select errand.fingerprint('photo 6c1d…: 404 after 3 tries');
create or replace function errand.fingerprint(error text) returns text
language sql immutable parallel safe set search_path = pg_catalog, errand, pg_temp as $$
    select left(
        regexp_replace(
            regexp_replace(left(error, 500), '''[^'']*''|"[^"]*"|«[^»]*»', '…', 'g'),
            '[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}|\m0x[0-9a-fA-F]+|\m(?=[0-9a-fA-F]*\d)[0-9a-fA-F]{8,}\M|\d+([.,:]\d+)*', '#', 'g'),
        200)
$$;
comment on function errand.fingerprint(text) is 'An error without its numbers, ids and quotes: alike for errors that are alike';

create or replace function errand.fingerprint_failure() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    new.fingerprint := errand.fingerprint(new.error);
    return new;
end
$$;
comment on function errand.fingerprint_failure() is 'Trigger: gives each failure its fingerprint';

drop trigger if exists failed_fingerprint on errand.failed;
create trigger failed_fingerprint
before insert or update of error on errand.failed
for each row execute function errand.fingerprint_failure();
comment on trigger failed_fingerprint on errand.failed is 'Gives each failure its fingerprint';
