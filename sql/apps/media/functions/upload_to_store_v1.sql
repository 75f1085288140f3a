-- upload_to_store_v1: returns what the job needs to know of an upload; no row if there is none.
--
-- is_done: the store has these bytes for good. replaces: an existing object is replaced. confirm_in: the seconds after
-- which the job stores them again; null after the last time. variants: the number of variants, which the same job
-- stores.
create or replace function media.upload_to_store_v1(upload uuid)
returns table (
    key text, type text, sha256 text, bytes bytea, revision int, is_done boolean, replaces boolean,
    confirm_in double precision, variants int
)
language sql stable security definer set search_path = pg_catalog, media, pg_temp as $$
    select
        existing.key, existing.type, encode(existing.sha256, 'hex'), existing.bytes, existing.revision,
        existing.delivered_at is not null and existing.confirm_at is null, existing.replaces,
        case
            when existing.confirm_at > clock_timestamp()
            then extract(epoch from existing.confirm_at - clock_timestamp())::double precision
        end,
        (select count(*) from media.variant where variant.photo = existing.photo)::int
    from media.upload as existing
    where existing.id = upload_to_store_v1.upload
$$;
