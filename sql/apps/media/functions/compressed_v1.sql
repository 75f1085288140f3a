-- compressed_v1: records a photo's result, keeps its bytes, and enqueues the job that stores them: for the transaction in
-- which the compression ends. A photo that has a result keeps the one that it has.
--
-- Answers staged; compressed where there was a result already; gone where there is no such photo (any more).
create or replace function media.compressed_v1(photo uuid, result_key text, report jsonb, bytes bytea) returns text
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    known media.photo;
begin
    select * into known from media.photo where id = compressed_v1.photo for update;
    if not found then
        return 'gone';
    elsif known.state = 'compressed' then
        return 'compressed';
    end if;
    update media.photo
    set state = 'compressed', compressed_at = now(), result_key = compressed_v1.result_key, error = null,
        bytes = (report ->> 'bytes')::bigint, width = (report ->> 'width')::int, height = (report ->> 'height')::int,
        quality = (report ->> 'quality')::int, encodes = (report ->> 'encodes')::int,
        milliseconds = (report ->> 'milliseconds')::double precision, source_format = report ->> 'sourceFormat',
        source_bytes = (report ->> 'sourceBytes')::bigint, source_width = (report ->> 'sourceWidth')::int,
        source_height = (report ->> 'sourceHeight')::int
    where id = compressed_v1.photo;
    perform media.stage(
        compressed_v1.photo, compressed_v1.result_key, 'image/jpeg', known.owner, compressed_v1.bytes);
    return 'staged';
end
$$;
comment on function media.compressed_v1(uuid, text, jsonb, bytea) is
    'For the job image_compression: records the result and has it stored; answers staged, compressed or gone';
