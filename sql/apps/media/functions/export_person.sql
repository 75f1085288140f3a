-- export_person: returns all photos and uploads of an owner as a JSON object; {} if there is nothing. For a person's
-- request for their data.
--
-- photos and uploads are arrays, the oldest first, without nulls. The bytes of an object are in the store, under its
-- key.
create or replace function media.export_person(user_id text) returns jsonb
-- Not in SQL: views are applied after functions.
language plpgsql stable set search_path = pg_catalog, media, pg_temp as $$
begin
    return (
        select coalesce(jsonb_object_agg(part.name, part.rows), '{}')
        from (
            select
                'photos' as name,
                jsonb_agg(
                    jsonb_strip_nulls(
                        to_jsonb(known) - '{owner,job_id,percent,encodes,milliseconds}'::text[]
                        || jsonb_build_object(
                            'idempotency_key', photo.idempotency_key,
                            'variants', (
                                select jsonb_agg(
                                    to_jsonb(variant) - '{photo,quality,delivered_at}'::text[] order by name)
                                from media.variant_status as variant
                                where variant.photo = known.id)))
                    order by known.submitted_at, known.id) as rows
            from media.photo_status as known
            join media.photo on photo.id = known.id
            where known.owner = export_person.user_id
            union all
            select
                'uploads',
                jsonb_agg(
                    jsonb_strip_nulls(
                        jsonb_build_object(
                            'id', known.id, 'key', known.key, 'type', known.type, 'size', known.size, 'sha256',
                            encode(known.sha256, 'hex'), 'staged_at', known.staged_at,
                            'delivered_at', known.delivered_at, 'removed_at', known.removed_at))
                    order by known.staged_at, known.id)
            from media.upload as known
            where known.owner = export_person.user_id and known.photo is null
        ) as part
        where part.rows is not null
    );
end
$$;
