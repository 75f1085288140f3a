-- check_elements: raises ER422 if the argument of errand.enqueue_many is not an array of objects with known names.
-- Returns whether some may have unique keys, whether all must be enqueued one by one, and whether some wait for others.
-- One by one means that some ask to change existing jobs or say how long they have their keys, or that they are not of
-- the same batch. batch is the one that all of them are in.
create or replace function errand_internal.check_elements(
    jobs jsonb, out have_keys boolean, out one_by_one boolean, out have_parents boolean, out batch bigint
)
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    usual text[] := array[
        'kind', 'payload', 'queue', 'run_at', 'priority', 'max_attempts', 'unique_key', 'not_after', 'on_conflict',
        'limit_key', 'rate_key', 'guard', 'tags', 'subject', 'options', 'follow', 'kind_defaults'];
    -- Elements without them aren't searched for them.
    of_flows constant text[] := '{after,after_elements,if_parent_fails}';
    of_keys constant text[] := '{unique_for,unique_while,no_later_than}';
    allowed constant text[] := usual || of_flows || of_keys || '{order_key,if_head_fails,batch}';
    first_batch jsonb;
    are_of_one boolean;
    are_good boolean;
    element record;
begin
    if jsonb_typeof(jobs) is distinct from 'array' then
        raise exception 'enqueue_many: jobs: expected a JSON array, got %', coalesce(jsonb_typeof(jobs), 'null')
            using errcode = 'ER422';
    elsif jsonb_array_length(jobs) > 100000 then
        raise exception 'enqueue_many: jobs: expected at most 100000 elements, got %', jsonb_array_length(jobs)
            using errcode = 'ER422', hint = 'Call it several times in one transaction.';
    end if;
    -- So elements aren't searched for batches if the first one has none.
    first_batch := jobs #> '{0,batch}';
    if first_batch::text ~ '^[0-9]{1,18}$' then
        usual := usual || '{batch}';
        batch := first_batch;
    else
        first_batch := null;
    end if;
    select
        coalesce(bool_and(jsonb_typeof(value) = 'object' and value - usual = '{}'), true),
        coalesce(bool_or(value ? 'unique_key'), false),
        coalesce(bool_or(value ->> 'on_conflict' in ('replace', 'reschedule', 'merge', 'supersede')), false),
        false, bool_and(first_batch is null or (value -> 'batch' = first_batch) is true)
    into are_good, have_keys, one_by_one, have_parents, are_of_one
    from jsonb_array_elements(jobs);
    if not are_of_one then
        batch := null;
        one_by_one := true;
    end if;
    if are_good then
        return;
    end if;
    select
        bool_and(jsonb_typeof(value) = 'object' and value - allowed = '{}'), bool_or(value ?| of_flows),
        one_by_one or bool_or(value ?| of_keys) or batch is null and bool_or(value ? 'batch')
    into are_good, have_parents, one_by_one
    from jsonb_array_elements(jobs);
    if are_good then
        return;
    end if;
    select value, ordinality into element
    from jsonb_array_elements(jobs) with ordinality
    where jsonb_typeof(value) <> 'object' or value - allowed <> '{}'
    limit 1;
    if jsonb_typeof(element.value) <> 'object' then
        raise exception 'enqueue_many: jobs[%]: expected an object, got %', element.ordinality,
            jsonb_typeof(element.value)
            using errcode = 'ER422';
    end if;
    raise exception 'enqueue_many: jobs[%]: expected the arguments of errand.enqueue, got %',
        element.ordinality, (select quote_literal(left(min(name), 120))
            from jsonb_object_keys(element.value - allowed) as name)
        using errcode = 'ER422', hint = 'They are ' || array_to_string(allowed, ', ') || '.';
end
$$;
