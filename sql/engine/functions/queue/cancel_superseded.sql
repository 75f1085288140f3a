-- cancel_superseded: cancels the running job whose unique key a new one gets by on_conflict => 'supersede'. Its worker
-- is told to stop it, and its late completion changes nothing.
create or replace function errand_internal.cancel_superseded(existing errand.job, by_id bigint) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    -- The caller may take other keys: it must not have locked jobs out of their order.
    perform errand_internal.move_to_cancelled(existing, format('superseded by job %s', by_id), releases => false);
    if existing.options ? 'owner' then
        perform errand_internal.tell_ended(array[existing.id], '{cancelled}');
    end if;
end
$$;
