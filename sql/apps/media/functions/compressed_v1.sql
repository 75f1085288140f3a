-- compressed_v1: records a photo's result and variants, stores their bytes, and enqueues the job that delivers them, in
-- the transaction that completes the compression. report is the image process's report. A photo that has a result keeps
-- it.
--
-- variants are objects with the name and the report of each, variant_bytes their bytes in the same order. Returns
-- staged; compressed if there was a result already; gone if there is no such photo any more. Raises ER422 if the
-- variants are not those that the photo was submitted with.
create or replace function media.compressed_v1(
    photo uuid, result_key text, report jsonb, bytes bytea, variants jsonb default '[]',
    variant_bytes bytea[] default '{}'
) returns text
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    existing media.photo;
begin
    select * into existing from media.photo where id = compressed_v1.photo for update;
    if not found then
        return 'gone';
    elsif existing.state = 'compressed' then
        return 'compressed';
    elsif jsonb_path_query_array(existing.variants, '$[*].name')
        <> (
            select coalesce(jsonb_agg(value -> 'name' order by value ->> 'name' collate "C"), '[]')
            from jsonb_array_elements(compressed_v1.variants)
        )
        or jsonb_array_length(compressed_v1.variants) <> cardinality(compressed_v1.variant_bytes)
    then
        raise exception 'compressed_v1: variants: expected %, got %',
            jsonb_path_query_array(existing.variants, '$[*].name'),
            jsonb_path_query_array(compressed_v1.variants, '$[*].name') using errcode = 'ER422';
    end if;
    update media.photo
    set state = 'compressed', compressed_at = now(), result_key = compressed_v1.result_key, error = null,
        bytes = (report ->> 'bytes')::bigint, width = (report ->> 'width')::int, height = (report ->> 'height')::int,
        quality = (report ->> 'quality')::int, encodes = (report ->> 'encodes')::int,
        milliseconds = (report ->> 'milliseconds')::double precision, source_format = report ->> 'sourceFormat',
        source_bytes = (report ->> 'sourceBytes')::bigint, source_width = (report ->> 'sourceWidth')::int,
        source_height = (report ->> 'sourceHeight')::int
    where id = compressed_v1.photo;
    insert into media.variant (photo, name, key, format, size, width, height, quality, sha256, bytes)
    select
        existing.id, wanted ->> 'name',
        media.variant_key(compressed_v1.result_key, wanted ->> 'name', wanted ->> 'format'), wanted ->> 'format',
        length(file.bytes), (made.value #>> '{report,width}')::int, (made.value #>> '{report,height}')::int,
        (made.value #>> '{report,quality}')::int, sha256(file.bytes), file.bytes
    from jsonb_array_elements(existing.variants) as wanted
    join jsonb_array_elements(compressed_v1.variants) with ordinality as made on made.value -> 'name' = wanted -> 'name'
    join unnest(compressed_v1.variant_bytes) with ordinality as file (bytes, ordinality) using (ordinality);
    perform media.stage(
        compressed_v1.photo, compressed_v1.result_key, 'image/' || existing.format, existing.owner,
        compressed_v1.bytes);
    return 'staged';
end
$$;
