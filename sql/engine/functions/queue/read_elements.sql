-- read_elements: returns the jobs of the elements of errand.enqueue_many, in order, with the defaults of their kinds.
-- All of them are of that batch, if there is one.
--
-- Raises as errand.enqueue_many does.
create or replace function errand_internal.read_elements(jobs jsonb, batch bigint) returns table (
    ordinal bigint, kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int,
    unique_key text, not_after timestamptz, limit_key text, rate_key text, guard text, tags text[], subject text,
    options jsonb)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    batch_options constant jsonb := case
        when read_elements.batch is not null then jsonb_build_object('batch', read_elements.batch)
    end;
begin
    return query
    select
        job.ordinal, job.kind, coalesce(job.payload, '{}'), coalesce(job.queue, defaults.queue, 'default'),
        coalesce(job.run_at, now()), coalesce(job.priority, defaults.priority, 2),
        coalesce(job.max_attempts, defaults.max_attempts, 10), job.unique_key, nullif(job.not_after, 'infinity'),
        coalesce(job.limit_key, defaults.limit_key), coalesce(job.rate_key, defaults.rate_key), job.guard,
        nullif(job.tags[:], '{}'), job.subject,
        case
            when job.order_key is not null or job.if_head_fails is not null or defaults.order_key is not null
                then errand_internal.stored_options(
                    job.options, case when job.follow then session_user::text end, null,
                    errand_internal.order_options(
                        format('enqueue_many: jobs[%s]', job.ordinal), job.order_key, job.if_head_fails,
                        defaults.order_key, defaults.if_head_fails), read_elements.batch)
            when job.follow or job.options is not null then errand_internal.stored_options(
                job.options, case when job.follow then session_user::text end, batch => read_elements.batch)
            else batch_options
        end
    from rows from (
        jsonb_to_recordset(jobs) as (
            kind text, payload jsonb, queue text, run_at timestamptz, priority int, max_attempts int, unique_key text,
            not_after timestamptz, on_conflict text, limit_key text, guard text, tags text[], subject text,
            options jsonb, follow boolean, kind_defaults jsonb, rate_key text, order_key text, if_head_fails text)
    ) with ordinality as job(
        kind, payload, queue, run_at, priority, max_attempts, unique_key, not_after, on_conflict, limit_key, guard,
        tags, subject, options, follow, kind_defaults, rate_key, order_key, if_head_fails, ordinal)
    -- Lateral with an offset: only a nested loop can do that, and it keeps the order of the elements.
    left join lateral (
        select *
        from errand.kind
        where name = job.kind
        union all
        -- Of a kind without a row.
        select given.*
        from errand_internal.kind_defaults(
            job.kind, job.kind_defaults, format('enqueue_many: jobs[%s]', job.ordinal)) as given
        where job.kind_defaults is not null and not exists (select from errand.kind where name = job.kind)
        offset 0
    ) as defaults on true
    -- The bounds of errand_internal.check_element without a call, which takes 7 us. The call remains for values out of
    -- bounds and for rare options.
    where
        length(job.kind) <= 100 and job.kind ~ '^[a-z][a-z0-9_.-]*$'
        and (length(job.queue) <= 100 and job.queue ~ '^[a-z][a-z0-9_.-]*$') is not false
        and (pg_column_size(job.payload) <= 2000 and octet_length(job.payload::text) <= 262144) is not false
        and jsonb_path_exists(job.payload, 'strict $.**{64} ? (@.type() == "object" || @.type() == "array")')
            is not true
        and (job.run_at is null or isfinite(job.run_at) and job.run_at <= now() + interval '10 years')
        and (job.priority between 1 and 4) is not false
        and (job.max_attempts between 1 and 1000) is not false
        and (length(job.unique_key) between 1 and 500) is not false
        and (length(job.limit_key) between 1 and 500 and job.limit_key not like '%*') is not false
        and (length(job.rate_key) between 1 and 500 and job.rate_key not like '%*') is not false
        and num_nonnulls(job.not_after, job.on_conflict, job.guard, job.tags, job.subject, job.options) = 0
        or errand_internal.check_element(
            job.kind, job.payload, job.queue, job.run_at, job.priority, job.max_attempts, job.unique_key, job.not_after,
            job.on_conflict, job.limit_key, job.guard, job.tags, job.subject, job.options, job.rate_key,
            format('enqueue_many: jobs[%s]', job.ordinal));
exception
    when data_exception then
        perform errand_internal.refuse_element(jobs);
        raise;
end
$$;
