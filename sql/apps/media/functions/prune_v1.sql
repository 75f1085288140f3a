-- prune_v1: deletes up to `most` receipts of removals that were finished 30 days ago. Returns their number. Entries of
-- the list of removals need no such call: each is deleted when the store confirms it.
create or replace function media.prune_v1(most int) returns int
language plpgsql security definer set search_path = pg_catalog, media, pg_temp as $$
declare
    pruned int;
begin
    delete from media.receipt
    where id in (
        select id
        from media.receipt
        where finished_at < now() - interval '30 days'
        order by id
        limit prune_v1.most
        for update skip locked
    );
    get diagnostics pruned = row_count;
    return pruned;
end
$$;
