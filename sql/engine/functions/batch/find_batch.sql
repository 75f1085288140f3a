-- find_batch: returns the batch of this id, with its row's lock if asked. Raises ER404 if there is none, or none that
-- the caller may use: errand_internal.may_use_batch.
create or replace function errand_internal.find_batch(context text, batch_id bigint, locks boolean default false)
returns errand.batch
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    found_batch errand.batch;
begin
    if locks then
        select * into found_batch from errand.batch where id = find_batch.batch_id for update;
    else
        select * into found_batch from errand.batch where id = find_batch.batch_id;
    end if;
    if found_batch.id is null or not errand_internal.may_use_batch(found_batch.owner) then
        raise exception '%: expected the id of a batch that this login may use, got %', context,
            coalesce(batch_id::text, 'null')
            using errcode = 'ER404', hint = 'A batch stays on record for 30 days after its end.';
    end if;
    return found_batch;
end
$$;
