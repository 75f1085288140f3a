-- find_by_index: for errand.list_jobs: returns the newest jobs below a bound that have the unique key, the tag or the
-- fingerprint of a filter, or are of its batch. Null if it has none of them, or if over a million jobs match: a read by
-- id meets those soon.
create or replace function errand_internal.find_by_index(
    choice errand.job_choice, bound bigint, most int
) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, errand, pg_temp
-- A tag that was frequent in the statistics would be a read of the whole history.
set jit = off set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off
as $$
declare
    found_ids bigint[];
    matches bigint;
    upto constant bigint := coalesce(bound, 9223372036854775807) - 1;
    mark bigint;
    condition constant text := case
        when choice.unique_key is not null then 'unique_key = ' || quote_literal(choice.unique_key)
        when choice.fingerprint is not null then 'fingerprint = ' || quote_literal(choice.fingerprint)
        when choice.tag is not null then 'tags @> array[' || quote_literal(choice.tag) || ']'
    end;
begin
    if condition is null and choice.batch is not null then
        if choice.state in ('failed', 'cancelled', 'obsolete') then
            return array(
                select job_id
                from errand.batch_failure
                where batch_id = choice.batch and job_id <= upto
                    and case state when 'discarded' then 'cancelled' else state end = choice.state
                order by job_id desc
                limit most);
        elsif choice.state in ('scheduled', 'available', 'parked') then
            mark := errand_internal.mark_of_batch(choice.batch);
            return array(
                select live.id
                from (
                    select *
                    from errand.batch_jobs
                    where batch_id = choice.batch and last_id >= mark and first_id <= upto
                    order by last_id desc
                ) as span
                cross join lateral (
                    select id
                    from errand.job
                    where id between greatest(span.first_id, mark) and least(span.last_id, upto)
                        and job.state = choice.state
                    order by id desc
                    offset 0) as live
                limit most);
        elsif choice.state is distinct from 'running' then
            return array(
                select one.id
                from (
                    select *
                    from errand.batch_jobs
                    where batch_id = choice.batch and first_id <= upto
                    order by last_id desc
                ) as span
                cross join lateral (
                    -- Not all of a range before the first of them.
                    select generate_series(least(span.last_id, upto), span.first_id, -1) as id
                ) as one
                limit most);
        end if;
    end if;
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
            array(select id from matching where id <= $1 order by id desc limit $2)
        $find$,
        (
            select string_agg(format('errand.%I where %s', relation, condition), ' union all select id from ')
            from unnest('{failed,job,history}'::text[]) as relation
            -- Only failed jobs have a fingerprint.
            where relation = 'failed' or choice.unique_key is not null or choice.fingerprint is null
        ))
    into matches, found_ids
    using upto, most;
    return case when matches <= 1000000 then found_ids end;
end
$$;
