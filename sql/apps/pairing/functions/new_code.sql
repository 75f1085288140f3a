-- new_code: returns six random letters and digits, each equally likely. The code may be taken: create_invite checks.
--
-- The randomness is gen_random_uuid's, which the server draws from its cryptographic source. Its first 32 bits are all
-- random. 30 of them select five bits each for one of 32 characters, so no value is more likely. I, O, 0 and 1 are left
-- out.
create or replace function pairing.new_code() returns text
language plpgsql volatile set search_path = pg_catalog, pairing, pg_temp as $$
declare
    signs constant text := 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789';
    bits constant bigint := ('x' || left(gen_random_uuid()::text, 8))::bit(32)::bigint;
begin
    return (
        select string_agg(substr(signs, ((bits >> 5 * index) & 31)::int + 1, 1), '')
        from generate_series(0, 5) as index
    );
end
$$;
