-- metrics: returns the samples of this app, for errand.metrics: what waits for the store.
--
-- The staged ones are read from two indexes that hold nothing else: 1 ms a 10,000 of them. Of removals at most 100,000
-- are counted. Beyond that their number is the server's estimate.
create or replace function media.metrics() returns table (name text, type text, labels jsonb, value double precision)
language sql stable set search_path = pg_catalog, media, pg_temp as $$
    with staged as materialized (
        select count(*) as objects, coalesce(sum(size::float8), 0) as bytes, min(staged_at) as oldest_at
        from media.upload
        where bytes is not null
    ),
    variants as materialized (
        select count(*) as objects, coalesce(sum(size::float8), 0) as bytes from media.variant where bytes is not null
    ),
    removal as materialized (
        select count(*) as objects from (select from media.removal limit 100000) as counted
    )
    select 'errand_media_staged_bytes', 'gauge', '{}'::jsonb, staged.bytes + variants.bytes
    from staged, variants
    union all
    select 'errand_media_staged_objects', 'gauge', '{}', (staged.objects + variants.objects)::float8
    from staged, variants
    union all
    select 'errand_media_staged_oldest_seconds', 'gauge', '{}',
        coalesce(extract(epoch from now() - oldest_at), 0)::float8
    from staged
    union all
    select 'errand_media_removals', 'gauge', '{}',
        case
            when objects < 100000 then objects
            else greatest(objects, (select reltuples from pg_class where oid = 'media.removal'::regclass))
        end::float8
    from removal
    union all
    -- Ids are given in the order of asked_at, but for transactions at the same time.
    select 'errand_media_removal_oldest_seconds', 'gauge', '{}',
        coalesce(
            extract(epoch from now() - (select asked_at from media.removal order by id limit 1)), 0)::float8
$$;
