-- compressed_v2: records a photo's result, keeps its bytes, and enqueues the job that stores them: for the transaction in
-- which the compression ends. A photo that has a result keeps the one that it has.
--
-- Answers staged; compressed where there was a result already; gone where there is no such photo (any more).
create or replace function media.compressed_v2(photo uuid, result_key text, report jsonb, bytes bytea) returns text
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    known media.photo;
begin
    select * into known from media.photo where id = compressed_v2.photo for update;
    if not found then
        return 'gone';
    elsif known.state = 'compressed' then
        return 'compressed';
    end if;
    perform media.compressed_v1(compressed_v2.photo, compressed_v2.result_key, compressed_v2.report);
    perform media.stage(
        compressed_v2.photo, compressed_v2.result_key, 'image/jpeg', known.owner, compressed_v2.bytes);
    return 'staged';
end
$$;
comment on function media.compressed_v2(uuid, text, jsonb, bytea) is
    'For the job image_compression: records the result and has it stored; answers staged, compressed or gone';
