-- find_by_index: for errand.list_jobs: returns the newest jobs below a bound that have the unique key, the tag or the
-- fingerprint of a filter. Null if it has none of them, or if over a million jobs match: a read by id meets those soon.
create or replace function errand_internal.find_by_index(
    choice errand.job_choice, bound bigint, most int
) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
-- A tag that was frequent in the statistics would be a read of the whole history.
set jit = off set enable_seqscan = off
as $$
declare
    found_ids bigint[];
    matches bigint;
    condition constant text := case
        when choice.unique_key is not null then 'unique_key = ' || quote_literal(choice.unique_key)
        when choice.fingerprint is not null then 'fingerprint = ' || quote_literal(choice.fingerprint)
        when choice.tag is not null then 'tags @> array[' || quote_literal(choice.tag) || ']'
    end;
begin
    if condition is null then
        return null;
    end if;
    execute format(
        $find$
        with matching as materialized (
            select id from %s limit 1000001
        )
        select
            (select count(*) from matching),
            array(select id from matching where id < $1 order by id desc limit $2)
        $find$,
        (
            select string_agg(format('errand.%I where %s', relation, condition), ' union all select id from ')
            from unnest('{failed,job,history}'::text[]) as relation
            -- Only failed jobs have a fingerprint.
            where relation = 'failed' or choice.unique_key is not null or choice.fingerprint is null
        ))
    into matches, found_ids
    using coalesce(bound, 9223372036854775807), most;
    return case when matches <= 1000000 then found_ids end;
end
$$;
