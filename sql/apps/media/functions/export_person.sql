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
                        to_jsonb(existing) - '{owner,job_id,percent,encodes,milliseconds}'::text[]
                        || jsonb_build_object(
                            'idempotency_key', photo.idempotency_key,
                            'variants', (
                                select jsonb_agg(
                                    to_jsonb(variant) - '{photo,quality,delivered_at}'::text[] order by name)
                                from media.variant_status as variant
                                where variant.photo = existing.id)))
                    order by existing.submitted_at, existing.id) as rows
            from media.photo_status as existing
            join media.photo on photo.id = existing.id
            where existing.owner = export_person.user_id
            union all
            select
                'uploads',
                jsonb_agg(
                    jsonb_strip_nulls(
                        jsonb_build_object(
                            'id', existing.id, 'key', existing.key, 'type', existing.type, 'size', existing.size,
                            'sha256',
                            encode(existing.sha256, 'hex'), 'staged_at', existing.staged_at,
                            'delivered_at', existing.delivered_at, 'removed_at', existing.removed_at))
                    order by existing.staged_at, existing.id)
            from media.upload as existing
            where existing.owner = export_person.user_id and existing.photo is null
        ) as part
        where part.rows is not null
    );
end
$$;
