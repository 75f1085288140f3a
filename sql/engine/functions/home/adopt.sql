-- adopt: lets a copy of a database claim and schedule, once the original runs no jobs any more.
--
--   select errand.adopt('the old server is gone');
--
-- Returns whether it was a copy. Does nothing where it was none. Raises ER422 without a reason.
create or replace function errand.adopt(reason text) returns boolean
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    original text := errand.copy_of();
begin
    perform errand.check_reason('adopt', reason);
    if original is null then
        return false;
    end if;
    perform errand.record_home();
    -- The numbers of transactions mean nothing here: all that a copied worker ever ended would look uncounted.
    delete from errand.counted;
    perform errand.record_action('adopt', jsonb_build_object('copy_of', original), reason);
    perform errand.wake();
    return true;
end
$$;
comment on function errand.adopt(text) is
    'Lets a copy of a database claim and schedule. Example: select errand.adopt(''the old server is gone'')';
