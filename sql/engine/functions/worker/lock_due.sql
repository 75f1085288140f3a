-- lock_due: locks the rows of the next `most` due jobs of a claim, in their order: by priority, then by position,
-- behind `starts` and without those in `met`. Handed-back jobs lie below the starts. They have an index of their own,
-- and come first in their priority.
--
-- undecided has the jobs that need a decision (errand_internal.admit): those with a last moment, a guard, a limit, a
-- rate or an order key, and those of the kinds in scope.checked. last_attempts is the number of jobs on their last
-- attempt. needs_trim says that payloads may be more than a claim takes.
create or replace function errand_internal.lock_due(
    scope errand.claim_scope, starts bigint[], met tid[], most int, out locked tid[], out ids bigint[],
    out undecided tid[], out last_attempts int, out took_handed_back boolean, out needs_trim boolean
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    -- Each row reads them: a field of a composite value costs more.
    in_queue constant text := scope.queue;
    of_kinds constant text[] := scope.kinds;
    checked constant text[] := scope.checked;
    is_bounded constant boolean := scope.is_bounded;
    skips_crashed constant boolean := scope.has_crashed;
begin
    select
        array_agg(ctid), array_agg(id), array_agg(ctid) filter (where needs_admission),
        count(*) filter (where is_last), bool_or(is_handed_back),
        bool_or(is_compressed) or sum(bytes) > 16777216
    into locked, ids, undecided, last_attempts, took_handed_back, needs_trim
    from (
        select
            due.ctid, due.id, due.is_handed_back, due.attempt + 1 >= due.max_attempts as is_last,
            pg_column_compression(due.payload) is not null as is_compressed,
            coalesce(due.payload_bytes, pg_column_size(due.payload)) as bytes,
            due.not_after is not null or due.guard is not null or due.limit_key is not null and is_bounded
                or due.rate_key is not null or due.kind = any (checked) or due.options ? 'order_key' as needs_admission
        from (
            select waits.*
            from unnest(scope.priorities) as level
            cross join lateral (
                select *
                from (
                    select
                        waiting.ctid, waiting.id, waiting.kind, waiting.not_after, waiting.guard, waiting.limit_key,
                        waiting.rate_key, waiting.attempt, waiting.max_attempts, waiting.payload, waiting.payload_bytes,
                        waiting.is_handed_back, waiting.options
                    from errand.job as waiting
                    where scope.has_handed_back and waiting.is_handed_back and waiting.queue = in_queue
                        and waiting.priority = level and waiting.state = 'available'
                        and waiting.kind = any (of_kinds) and (not skips_crashed or waiting.crashes = 0)
                    order by waiting.queue_position
                    for update skip locked) as handed_back
                union all
                select *
                from (
                    select
                        waiting.ctid, waiting.id, waiting.kind, waiting.not_after, waiting.guard, waiting.limit_key,
                        waiting.rate_key, waiting.attempt, waiting.max_attempts, waiting.payload, waiting.payload_bytes,
                        waiting.is_handed_back, waiting.options
                    from errand.job as waiting
                    where waiting.queue = in_queue and waiting.priority = level
                        and waiting.queue_position > starts[level]
                        and waiting.state = 'available' and waiting.kind = any (of_kinds)
                        and waiting.is_handed_back is null and (not skips_crashed or waiting.crashes = 0)
                    order by waiting.queue_position
                    for update skip locked) as by_position
            ) as waits
            limit most + coalesce(cardinality(met), 0)) as due
        where met is null or due.ctid <> all (met)
        limit most) as one;
end
$$;
