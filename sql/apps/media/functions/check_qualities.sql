-- check_qualities: raises ER422 for a range of encoder qualities that is not within 1 to 100. Null is allowed.
create or replace function media.check_qualities(context text, qualities int4range) returns void
language plpgsql immutable set search_path = pg_catalog, media, pg_temp as $$
begin
    if isempty(check_qualities.qualities) or not check_qualities.qualities <@ int4range(1, 101) then
        raise exception '%: qualities: expected a range within 1 to 100, such as [50,80], got %', context,
            check_qualities.qualities using errcode = 'ER422';
    end if;
end
$$;
