-- compressed_v1: records a photo's result, stores its bytes, and enqueues the job that delivers them, in the
-- transaction that completes the compression. report is the image process's report. A photo that has a result keeps it.
--
-- Returns staged; compressed if there was a result already; gone if there is no such photo any more.
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
        compressed_v1.photo, compressed_v1.result_key, 'image/' || known.format, known.owner, compressed_v1.bytes);
    return 'staged';
end
$$;
comment on function media.compressed_v1(uuid, text, jsonb, bytea) is
    'For the job image_compression: records the result and enqueues its delivery; returns staged, compressed or gone';
