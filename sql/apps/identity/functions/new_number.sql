-- new_number: returns ten random digits, the first of which is not 0. The number may be assigned: the caller checks.
--
-- The randomness is gen_random_uuid's, which the server draws from its cryptographic source. Its first 48 bits are all
-- random. The few values that don't divide into equal parts are drawn again, so each number is equally likely.
create or replace function identity.new_number() returns text
language plpgsql volatile set search_path = pg_catalog, identity, pg_temp as $$
declare
    numbers constant bigint := 9000000000;
    usable constant bigint := (1::bigint << 48) / numbers * numbers;
    bits bigint;
begin
    loop
        bits := ('x' || left(translate(gen_random_uuid()::text, '-', ''), 12))::bit(48)::bigint;
        if bits < usable then
            return (1000000000 + bits % numbers)::text;
        end if;
    end loop;
end
$$;
