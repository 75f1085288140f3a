-- check_owner: raises ER422 for an owner that is not 1 to 200 characters long; null is no owner.
create or replace function media.check_owner(context text, owner text) returns void
language plpgsql immutable set search_path = pg_catalog, media, pg_temp as $$
begin
    if length(check_owner.owner) not between 1 and 200 then
        raise exception '%: owner: expected 1 to 200 characters or null, got %', context, length(check_owner.owner)
            using errcode = 'ER422';
    end if;
end
$$;
