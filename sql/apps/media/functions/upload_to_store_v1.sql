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
        known.key, known.type, encode(known.sha256, 'hex'), known.bytes, known.revision,
        known.delivered_at is not null and known.confirm_at is null, known.replaces,
        case
            when known.confirm_at > clock_timestamp()
            then extract(epoch from known.confirm_at - clock_timestamp())::double precision
        end,
        (select count(*) from media.variant where variant.photo = known.photo)::int
    from media.upload as known
    where known.id = upload_to_store_v1.upload
$$;
