-- rights: returns what each role may call and read, by name: the engine's objects, and those that each app names in its
-- own function rights().
--
-- A reader of a view calls the functions in it with its own rights, so those are here too. An unknown name does no
-- harm.
-- errand: after app_rows, namespaces
create or replace function errand.rights() returns table (role text, what text, object text, privilege text)
language sql stable set search_path = pg_catalog, errand, pg_temp as $$
    with listed(role, what, names) as (
        values
            ('errand_enqueuer', 'function',
                'errand.enqueue errand.enqueue_many errand.enqueue_payloads_v1 errand.schema_version errand.help '
                'errand.cell errand.cell_of errand.taken_keys_v1 errand.lacking_rights_v1'),
            ('errand_worker', 'function',
                'errand.enqueue errand.enqueue_many errand.metrics errand.schema_version errand.copy_of errand.cell '
                'errand.cell_of errand.refresh_statistics'),
            ('errand_worker', 'view',
                'errand.migration errand.script errand.upgrade errand.app'),
            ('errand_ops', 'function',
                'errand.enqueue errand.enqueue_many errand.cancel errand.cancel_where errand.retry errand.retry_where '
                'errand.reschedule errand.reschedule_where errand.edit errand.discard errand.discard_where '
                'errand.bulk_start errand.bulk_stop errand.set_retention errand.retentions errand.explain '
                'errand.kind_times errand.compare_kinds errand.compare_errors errand.enqueue_rates errand.queue_rates '
                'errand.pause errand.resume errand.pause_kind errand.resume_kind '
                'errand.release_worker errand.drain_worker errand.undrain_worker '
                'errand.help errand.schedule_put errand.schedule_pause errand.schedule_resume errand.schedule_drop '
                'errand.schedule_run_now errand.schedule_preview errand.dependency_open errand.dependency_close '
                'errand.set_limit errand.set_rate errand.health errand.metrics errand.horizon errand.count_now '
                'errand.next_ticks errand.schema_version errand.sees_content errand.error_id errand.state_of '
                'errand.adopt errand.copy_of errand.cell errand.cell_of errand.taken_keys_v1 errand.moved_to_v1 '
                'errand.cell_load_v1 errand.list_jobs errand.busiest_queues errand.queue_minutes errand.looks_secret '
                'errand.mask_secrets errand.restore_secrets errand.refresh_statistics '
                'errand.lacking_rights_v1 errand.stands_still errand.standing_limits'),
            ('errand_ops', 'view',
                'errand.job_status errand.running_jobs errand.queue_status errand.kind_status errand.worker_status '
                'errand.job_progress '
                'errand.schedule_status errand.schedule_ticks errand.recent_errors errand.stuck errand.overdue '
                'errand.dependency_status errand.limit_status errand.table_health errand.horizon_blockers '
                'errand.audit errand.bulk_status errand.retention_status errand.maintenance_status '
                'errand.migration errand.script errand.upgrade errand.app'),
            ('errand_monitor', 'function',
                'errand.explain errand.kind_times errand.compare_kinds errand.compare_errors errand.enqueue_rates '
                'errand.queue_rates errand.retentions errand.help errand.schedule_preview errand.health '
                'errand.metrics errand.horizon errand.count_now errand.next_ticks errand.schema_version '
                'errand.sees_content errand.error_id errand.state_of errand.copy_of errand.cell errand.cell_of '
                'errand.moved_to_v1 errand.cell_load_v1 errand.list_jobs errand.busiest_queues errand.queue_minutes '
                'errand.looks_secret errand.mask_secrets errand.refresh_statistics '
                'errand.lacking_rights_v1 errand.stands_still errand.standing_limits'),
            ('errand_monitor', 'view',
                'errand.job_status errand.running_jobs errand.job_progress errand.queue_status errand.kind_status '
                'errand.worker_status '
                'errand.schedule_status errand.schedule_ticks errand.recent_errors errand.stuck errand.overdue '
                'errand.dependency_status errand.limit_status errand.table_health errand.horizon_blockers '
                'errand.audit errand.bulk_status errand.retention_status errand.maintenance_status '
                'errand.migration errand.script errand.upgrade errand.app')
        union all
        select role, what, names from errand.app_rows('rights') as own(role text, what text, names text)
    )
    select role, what, name, case what when 'function' then 'EXECUTE' else 'SELECT' end
    from listed
    cross join lateral regexp_split_to_table(names, ' +') as name
    union all
    -- Functions with a version in their name are for workers only.
    select 'errand_worker', 'function', pronamespace::regnamespace || '.' || proname, 'EXECUTE'
    from pg_proc
    where pronamespace = any (errand.namespaces()) and proname ~ E'_v\\d+$'
    union all
    select role, 'schema', nspname, 'USAGE'
    from unnest('{errand_worker,errand_enqueuer,errand_ops,errand_monitor}'::text[]) as role
    join pg_namespace on oid = any (errand.namespaces())
$$;
comment on function errand.rights() is
    'Returns what each of the five roles may call and read; errand.apply_rights grants it';
