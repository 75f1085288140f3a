-- kind_defaults: returns the defaults of a kind: those that a worker registered, else those that the enqueue brought,
-- if any.
--
-- given is {"queue", "priority", "max_attempts", "limit_key", "rate_key", "order_key", "if_head_fails"}, each as in
-- errand.enqueue; null is none. Raises ER422 for another name, and for a value out of bounds.
create or replace function errand_internal.kind_defaults(kind text, given jsonb, context text default 'enqueue')
returns errand.kind
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    allowed constant text[] := '{queue,priority,max_attempts,limit_key,rate_key,order_key,if_head_fails}';
    defaults errand.kind;
begin
    select * into defaults from errand.kind where name = kind_defaults.kind;
    if found or given is null then
        return defaults;
    end if;
    context := context || ': kind_defaults';
    if jsonb_typeof(given) <> 'object' or given - allowed <> '{}' then
        raise exception '%: expected an object of %, got %', context, array_to_string(allowed, ', '),
            left(given::text, 120) using errcode = 'ER422';
    end if;
    begin
        defaults.queue := given ->> 'queue';
        defaults.priority := (given ->> 'priority')::smallint;
        defaults.max_attempts := (given ->> 'max_attempts')::smallint;
        defaults.limit_key := given ->> 'limit_key';
        defaults.rate_key := given ->> 'rate_key';
        defaults.order_key := given ->> 'order_key';
        defaults.if_head_fails := given ->> 'if_head_fails';
    exception when data_exception then
        raise exception '%: expected whole numbers, got %', context, left(given::text, 120) using errcode = 'ER422';
    end;
    perform errand_internal.check_job(
        kind_defaults.kind, '{}', defaults.queue, defaults.priority, defaults.max_attempts, null, context);
    perform errand_internal.check_options(
        null, null, null, 'keep', defaults.limit_key, null, null, null, null, context, defaults.rate_key);
    -- With any key: a kind may say what its failures do, and each enqueue the key.
    perform errand_internal.order_options(
        context, coalesce(defaults.order_key, 'any'), defaults.if_head_fails, null, null);
    return defaults;
end
$$;
