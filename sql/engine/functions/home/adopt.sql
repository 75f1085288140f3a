-- adopt: lets a copy of a database claim and schedule. Call it when the original runs no jobs any more.
--
--   select errand.adopt('the old server is gone');
--
-- Returns whether the database was a copy. Does nothing if it was none. Raises ER422 without a reason.
-- errand: for ops
-- errand: topic backups
create or replace function errand.adopt(reason text) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    original text := errand.copy_of();
begin
    perform errand_internal.check_reason('adopt', reason);
    if original is null then
        return false;
    end if;
    perform errand_internal.record_home();
    -- Transaction ids of the original mean nothing here: all completions of a copied worker would look uncounted.
    delete from errand.counted;
    -- A dump has sequences of another moment than its rows: maintenance finds out whether any job waits for others,
    -- or any batch.
    perform nextval('errand.flows_begun');
    perform nextval('errand.batches_begun');
    perform errand_internal.record_action('adopt', jsonb_build_object('copy_of', original), reason);
    perform errand_internal.wake();
    return true;
end
$$;
