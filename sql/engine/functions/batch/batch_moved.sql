-- batch_moved: asks maintenance to check batches at once: one was closed, or jobs of one have ended. The caller has
-- written that already, so it has the lock of the table: see errand_internal.check_batches.
--
-- Costs the count alone while maintenance checks them anyway. Otherwise it sends a NOTIFY, also to busy workers. It is
-- a hint: without it maintenance checks them within a second.
create or replace function errand_internal.batch_moved() returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    was_due constant boolean := errand_internal.any_batch_due();
begin
    perform nextval('errand.batches_begun');
    if not was_due then
        perform errand_internal.set_due('batches', interval '0');
        perform errand_internal.notify('errand_wake', 'maintenance');
    end if;
end
$$;
