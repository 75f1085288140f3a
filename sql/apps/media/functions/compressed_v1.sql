-- compressed_v1: records a photo's result. report is the image process's, with its keys.
create or replace function media.compressed_v1(photo uuid, result_key text, report jsonb) returns void
language sql security definer set search_path = pg_catalog, media, pg_temp as $$
    update media.photo
    set state = 'compressed', compressed_at = now(), result_key = compressed_v1.result_key, error = null,
        bytes = (report ->> 'bytes')::bigint, width = (report ->> 'width')::int, height = (report ->> 'height')::int,
        quality = (report ->> 'quality')::int, encodes = (report ->> 'encodes')::int,
        milliseconds = (report ->> 'milliseconds')::double precision, source_format = report ->> 'sourceFormat',
        source_bytes = (report ->> 'sourceBytes')::bigint, source_width = (report ->> 'sourceWidth')::int,
        source_height = (report ->> 'sourceHeight')::int
    where id = compressed_v1.photo
$$;
comment on function media.compressed_v1(uuid, text, jsonb) is 'For the job image_compression: records the result';
