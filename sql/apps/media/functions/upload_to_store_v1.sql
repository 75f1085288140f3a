-- upload_to_store_v1: returns what the job needs to know of an upload; no row if there is none.
create or replace function media.upload_to_store_v1(upload uuid)
returns table (key text, type text, sha256 text, bytes bytea, is_delivered boolean)
language sql stable security definer set search_path = pg_catalog, media, pg_temp as $$
    select known.key, known.type, encode(known.sha256, 'hex'), known.bytes, known.delivered_at is not null
    from media.upload as known
    where known.id = upload_to_store_v1.upload
$$;
comment on function media.upload_to_store_v1(uuid) is
    'For the job upload_retry: returns the object to store, and its key';
