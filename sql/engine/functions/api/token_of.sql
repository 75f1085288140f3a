-- token_of: returns the token of the HTTP API with this hash. Raises ER401 if there is none.
create or replace function errand_internal.token_of(hash bytea) returns errand.api_token
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    token errand.api_token;
begin
    select * into token from errand.api_token as existing where existing.hash = token_of.hash;
    if not found then
        raise exception 'token: expected one that is set, got another' using errcode = 'ER401';
    end if;
    return token;
end
$$;
