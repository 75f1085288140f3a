-- limit_is_full: whether a job with this key would have to wait, as things look now. A guess: the claim decides.
create or replace function errand.limit_is_full(limit_key text) returns boolean
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    most int := errand.limit_of(limit_is_full.limit_key);
begin
    return most is not null and (
        exists (select from errand.job where parked_for = 'limit:' || limit_is_full.limit_key)
        or most <= (
            select count(*) from errand.limit_slot as slot
            where slot.limit_key = limit_is_full.limit_key and errand.slot_is_taken(slot)));
end
$$;
comment on function errand.limit_is_full(text) is 'Whether a job with this limit_key would have to wait now';
