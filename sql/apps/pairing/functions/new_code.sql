-- new_code: six letters and digits by lot, each as likely as any other. It may be taken: create_invite asks.
--
-- The lot is gen_random_uuid's, which the server draws from its cryptographic source: of its first 32 bits, all of which
-- are random, 30 give five each for one of 32 signs, so that nothing has to be cut down to size. I, O, 0 and 1 are left out.
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
comment on function pairing.new_code() is 'Six letters and digits from a cryptographic source, each equally likely';
