-- trusted: the newest line, for the worker's marks; 0 where the claim has set so many jobs aside that it stopped reading.
create or replace function errand.trusted(high bigint) returns bigint
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    set_aside int := current_setting('errand.set_aside', true)::int;
begin
    perform set_config('errand.set_aside', '', true);
    return case when set_aside >= 1000 then 0 else high end;
end
$$;
comment on function errand.trusted(bigint) is 'The newest line, or 0 where a claim has not read the line to its end';
