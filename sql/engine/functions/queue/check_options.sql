-- check_options: raises an error for options that a job may not have, with the expected and the given value.
--
-- `options` has those that only the job's worker reads. They are stored with the job, and no SQL tests them:
--
-- - traceparent: the trace of the job, as in W3C Trace Context.
--
-- Raises ER422 for an option out of bounds or with an unknown name, ER404 for a guard that is not registered.
create or replace function errand_internal.check_options(
    run_at timestamptz, not_after timestamptz, unique_key text, on_conflict text, limit_key text, guard text,
    tags text[], subject text, options jsonb, context text default 'enqueue',
    rate_key text default null
) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    allowed constant text[] := '{traceparent}';
begin
    if on_conflict is null or on_conflict not in ('keep', 'replace', 'reschedule', 'merge', 'supersede', 'error')
    then
        raise exception '%: on_conflict: expected keep, replace, reschedule, merge, supersede or error, got %',
            context, coalesce(quote_literal(left(on_conflict, 120)), 'null') using errcode = 'ER422';
    elsif on_conflict <> 'keep' and unique_key is null then
        raise exception '%: on_conflict: expected a unique_key beside %, got none', context, on_conflict
            using errcode = 'ER422', hint = 'Without a key there is no conflict.';
    elsif not_after = '-infinity' then
        raise exception '%: not_after: expected a time, got -infinity', context
            using errcode = 'ER422', hint = 'The job could never start.';
    elsif not_after < now() then
        raise exception '%: not_after: expected a time in the future, got %', context, not_after
            using errcode = 'ER422', hint = 'The job could never start.';
    elsif not_after < run_at then
        raise exception '%: not_after: expected a time after run_at, got % before it', context, run_at - not_after
            using errcode = 'ER422', hint = 'The job could never start.';
    elsif length(limit_key) not between 1 and 500 or limit_key like '%*' then
        raise exception '%: limit_key: expected 1 to 500 characters without an asterisk at the end, got %',
            context, quote_literal(left(limit_key, 120)) using errcode = 'ER422';
    elsif length(rate_key) not between 1 and 500 or rate_key like '%*' then
        raise exception '%: rate_key: expected 1 to 500 characters without an asterisk at the end, got %',
            context, quote_literal(left(rate_key, 120)) using errcode = 'ER422';
    elsif cardinality(tags) > 20 or length(array_to_string(tags, '', '')) > 1000 or array_position(tags, null) > 0
        or array_ndims(tags) > 1
    then
        raise exception '%: tags: expected at most 20 words of 1000 characters in all, got % of %',
            context, cardinality(tags), length(array_to_string(tags, '')) using errcode = 'ER422';
    elsif length(subject) not between 1 and 200 then
        raise exception '%: subject: expected 1 to 200 characters, got %', context, length(subject)
            using errcode = 'ER422';
    elsif jsonb_typeof(options) <> 'object' then
        raise exception '%: options: expected an object, got %', context, jsonb_typeof(options) using errcode = 'ER422';
    elsif options - allowed <> '{}' then
        raise exception '%: options: expected %, got %', context, array_to_string(allowed, ', '),
            (select quote_literal(left(min(name), 120)) from jsonb_object_keys(options - allowed) as name)
            using errcode = 'ER422';
    elsif jsonb_typeof(options -> 'traceparent') not in ('string', 'null')
        or options ->> 'traceparent' !~ '^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$'
    then
        raise exception
            '%: options.traceparent: expected 00-, 32 hex digits, -, 16 hex digits, -, 2 hex digits, got %',
            context, quote_literal(left(options ->> 'traceparent', 120))
            using errcode = 'ER422', hint = 'See W3C Trace Context, "traceparent Header".';
    elsif guard is not null
        and not exists (select from errand.guard as existing where existing.name = check_options.guard)
    then
        raise exception '%: guard: expected one of errand.guard, got %', context, quote_literal(left(guard, 120))
            using errcode = 'ER404',
            hint = 'Register it first: select errand.put_guard(''name'', ''schema.function'').';
    end if;
end
$$;
