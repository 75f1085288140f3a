-- count_wrong_code: counts a wrong code, for its source if given, and for all sources together.
create or replace function pairing.count_wrong_code(source text) returns void
language plpgsql set search_path = pg_catalog, pairing, pg_temp as $$
#variable_conflict use_column
declare
    present constant timestamptz := clock_timestamp();
begin
    -- In the same order for all sessions, so that no two wait for each other.
    insert into pairing.wrong_code as existing (source, since, tries)
    select name, present, 1
    from unnest(array['', count_wrong_code.source]) as name
    where name is not null
    order by name collate "C"
    on conflict on constraint wrong_code_pkey do update
    set tries = case when existing.since > present - interval '1 hour' then existing.tries + 1 else 1 end,
        since = case when existing.since > present - interval '1 hour' then existing.since else present end;
end
$$;
