-- front_rules: returns how the front of many cells makes each function and view that people and applications use.
--
--   key        a function: on the cell of the job's routing key, or of its batch or the jobs that it waits for
--              (errand_front.route)
--   any        a function: on one active cell
--   id         a function: on the cell of the job, its first argument
--   ids        a function: on the cells of the jobs, its first argument, each with its own part of them
--   token      a function: on the cell of the job with whose id its first argument begins
--   schedule   a function: on the cell that has the schedule of that name, else on the name's own
--   cell       a function: on the cell that errand.cell names; ids of workers and actions are not unique over cells
--   all        a function: on all cells; the result is merged by `detail`
--   copy       a function: the same as in a cell, on the front itself
--   many       enqueue_many, each element on the cell of its routing key; all on one if some wait for others
--              or are of a batch
--   union      a view: the rows of all cells, with the column cell; `detail` orders and bounds those of each cell
--   merge      a view: one row for each value of the first column. Counts are added, and of other values the largest is
--              shown; of the columns in `detail`, the smallest
--   own        the front has its own, or no use for it: handlers run on a cell
--
-- The signature says it: the name of the first argument, a result that can be merged, a name that ends with
-- _schedule. A function that depends on its arguments alone runs on any cell. Exceptions stand here. A function of
-- which neither says it has a null rule.
create or replace function errand_internal.front_rules() returns table (object text, rule text, detail text)
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    with exception(object, rule, detail) as (
        values
            ('enqueue', 'key', ''),
            ('enqueue_many', 'many', ''),
            ('enqueue_payloads_v1', 'any', ''),
            ('batch_open', 'any', ''), ('batch_close', 'id', ''), ('batch_status', 'id', ''),
            ('batch_cancel', 'id', ''), ('batch_retry', 'id', ''),
            ('start_bulk', 'cell', ''),
            ('health', 'all', 'check_name, ok, format(''cell %s: %s'', cell, detail), hint'),
            ('metrics', 'all', 'name, type, labels || jsonb_build_object(''cell'', cell::text), value'),
            ('busiest_queues', 'all', 'distinct value'),
            ('list_jobs', 'cell', ''),
            ('schema_version', 'all', 'min(value)'),
            (
                'copy_of', 'all',
                'string_agg(format(''cell %s: %s'', cell, value), ''; '' order by cell) filter (where value <> '''')'),
            ('help', 'any', ''),
            ('next_ticks', 'any', ''),
            ('tick_schedules', 'all', 'sum(value)::int'), ('maintain', 'all', 'min(value)'),
            ('adopt', 'cell', ''),
            ('cell', 'cell', ''),
            ('cell_of', 'copy', ''),
            ('queues', 'merge', 'oldest_due_at counted_at paused_at'),
            ('kinds', 'merge', 'counted_at'),
            ('jobs', 'union', 'order by id desc limit 1000'),
            ('audit', 'union', 'order by done_at desc limit 1000'),
            ('audit_changes', 'union', 'order by action_id desc limit 1000'),
            ('schedule_ticks', 'union', 'order by tick desc limit 1000'),
            ('outcome_done', 'own', ''), ('outcome_again', 'own', ''), ('outcome_snooze', 'own', ''),
            ('outcome_cancel', 'own', ''), ('outcome_fail', 'own', ''), ('outcome_wait', 'own', ''),
            ('signal', 'all', 'bool_or(value)'),
            ('callback', 'token', ''),
            ('test_endpoint', 'any', ''),
            ('migration', 'own', ''),
            ('script', 'own', ''),
            ('upgrade', 'own', '')
    ),
    declared as (
        select split_part(object, '.', 2) as object, is_view
        from errand.declaration
        where object like 'errand.%' and roles && '{enqueuer,ops,monitor}'
            -- Those are for programs, which connect to each cell.
            and (object !~ E'_v\\d+$' or split_part(object, '.', 2) in (select exception.object from exception))
    ),
    read as (
        select
            declared.object, declared.is_view, routine.provolatile, routine.prorettype, routine.proretset,
            coalesce(routine.proargnames[1], '') as first, pg_get_function_result(routine.oid) as result
        from declared
        left join pg_proc as routine
            on not declared.is_view and routine.pronamespace = 'errand'::regnamespace
                and routine.proname = declared.object
    )
    select
        read.object,
        coalesce(exception.rule, case
            when is_view then 'union'
            when read.object like '%~_schedule' escape '~' then 'schedule'
            when first = 'ids' then 'ids'
            when first in ('job_id', 'id') then 'id'
            when first in ('worker_id', 'bulk_id', 'audit_id') then 'cell'
            when provolatile = 'i' then 'any'
            when result = 'void' or result = 'boolean' or result like 'TABLE(%' then 'all'
        end),
        coalesce(exception.detail, case
            when is_view then 'limit 1000'
            when result = 'void' then 'nothing'
            when result = 'boolean' then 'bool_or(value)'
            else 'rows'
        end)
    from read
    left join exception on exception.object = read.object
$$;
