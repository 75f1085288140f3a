-- not_removed_v1: records why objects could not be removed. Each is retried after a delay that doubles, from 2 s to 5
-- minutes. With is_store_down they are retried by the next job: the failure is not theirs.
create or replace function media.not_removed_v1(ids bigint[], errors text[], is_store_down boolean) returns void
language sql security definer set search_path = pg_catalog, media, pg_temp as $$
    update media.removal as existing
    set error = left(failed.error, 500),
        try_at = clock_timestamp() + case
            when is_store_down then interval '0' else least(power(2, least(tries, 10)), 300) * interval '1 second'
        end
    from unnest(ids, errors) as failed (id, error)
    where existing.id = failed.id
$$;
