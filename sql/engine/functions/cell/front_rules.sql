-- front_rules: returns how the front of many cells makes each function and view that people and applications use.
--
--   key        a function: on the cell of the job's routing key (errand_front.route)
--   any        a function: on one active cell
--   id         a function: on the cell of the job, its first argument
--   ids        a function: on the cells of the jobs, its first argument, each with its own part of them
--   schedule   a function: on the cell that has the schedule of that name, else on the name's own
--   cell       a function: on the cell that the setting errand.cell names; worker ids are not unique over cells
--   all        a function: on all cells; the result is merged by `detail`
--   copy       a function: the same as in a cell, on the front itself
--   many       enqueue_many, each element on the cell of its routing key
--   union      a view: the rows of all cells, with the column cell; `detail` orders and bounds those of each cell
--   merge      a view: one row for each value of the first column. Counts are added, and of other values the largest is
--              shown; of the columns in `detail`, the smallest
--   own        the front has its own
create or replace function errand.front_rules() returns table (object text, rule text, detail text)
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    values
        ('enqueue', 'key', ''),
        ('enqueue_many', 'many', ''),
        ('enqueue_payloads_v1', 'any', ''),
        ('cancel', 'ids', ''),
        ('retry', 'ids', ''),
        ('reschedule', 'ids', ''),
        ('discard', 'ids', ''),
        ('edit', 'id', ''),
        ('explain', 'id', ''),
        ('state_of', 'id', ''),
        ('cancel_where', 'all', 'rows'),
        ('discard_where', 'all', 'rows'),
        ('retry_where', 'all', 'rows'),
        ('reschedule_where', 'all', 'rows'),
        ('pause', 'all', 'nothing'),
        ('resume', 'all', 'nothing'),
        ('pause_kind', 'all', 'nothing'),
        ('resume_kind', 'all', 'nothing'),
        ('dependency_open', 'all', 'nothing'),
        ('dependency_close', 'all', 'bool_or(value)'),
        ('set_limit', 'all', 'nothing'),
        ('set_rate', 'all', 'nothing'),
        ('set_retention', 'all', 'nothing'),
        ('bulk_start', 'cell', ''),
        ('bulk_stop', 'cell', ''),
        ('health', 'all', 'check_name, ok, format(''cell %s: %s'', cell, detail), hint'),
        ('metrics', 'all', 'name, type, labels || jsonb_build_object(''cell'', cell::text), value'),
        ('horizon', 'all', 'rows'),
        ('count_now', 'all', 'rows'),
        ('standing_limits', 'all', 'rows'),
        ('stands_still', 'all', 'bool_or(value)'),
        ('queue_rates', 'all', 'rows'),
        ('enqueue_rates', 'all', 'rows'),
        ('kind_times', 'all', 'rows'),
        ('compare_kinds', 'all', 'rows'),
        ('compare_errors', 'all', 'rows'),
        ('queue_minutes', 'all', 'rows'),
        ('busiest_queues', 'all', 'distinct value'),
        ('refresh_statistics', 'all', 'bool_or(value)'),
        ('list_jobs', 'cell', ''),
        ('looks_secret', 'any', ''),
        ('mask_secrets', 'any', ''),
        ('restore_secrets', 'any', ''),
        ('retentions', 'any', ''),
        ('schema_version', 'all', 'min(value)'),
        (
            'copy_of', 'all',
            'string_agg(format(''cell %s: %s'', cell, value), ''; '' order by cell) filter (where value <> '''')'),
        ('help', 'any', ''),
        ('next_ticks', 'any', ''),
        ('sees_content', 'any', ''),
        ('error_id', 'any', ''),
        ('schedule_put', 'schedule', ''),
        ('schedule_pause', 'schedule', ''),
        ('schedule_resume', 'schedule', ''),
        ('schedule_drop', 'schedule', ''),
        ('schedule_run_now', 'schedule', ''),
        ('schedule_preview', 'schedule', ''),
        ('release_worker', 'cell', ''),
        ('drain_worker', 'cell', ''),
        ('undrain_worker', 'cell', ''),
        ('adopt', 'cell', ''),
        ('cell', 'cell', ''),
        ('cell_of', 'copy', ''),
        ('queue_status', 'merge', 'oldest_due_at counted_at paused_at'),
        ('kind_status', 'merge', 'counted_at'),
        ('job_status', 'union', 'order by id desc limit 1000'),
        ('audit', 'union', 'order by done_at desc limit 1000'),
        ('schedule_ticks', 'union', 'order by tick desc limit 1000'),
        ('job_progress', 'union', 'limit 1000'),
        ('running_jobs', 'union', 'limit 1000'),
        ('bulk_status', 'union', ''),
        ('retention_status', 'union', ''),
        ('worker_status', 'union', ''),
        ('schedule_status', 'union', ''),
        ('recent_errors', 'union', 'limit 1000'),
        ('stuck', 'union', 'limit 1000'),
        ('overdue', 'union', 'limit 1000'),
        ('dependency_status', 'union', ''),
        ('limit_status', 'union', 'limit 1000'),
        ('table_health', 'union', ''),
        ('horizon_blockers', 'union', ''),
        ('maintenance_status', 'union', ''),
        ('app', 'union', ''),
        ('migration', 'own', ''),
        ('script', 'own', ''),
        ('upgrade', 'own', '')
$$;
