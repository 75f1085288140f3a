-- help_topics: the topics of errand.help: what each is about, and its functions and views of the schema errand in the
-- order in which they are shown; and words by which people look for them. Each installed app is a topic of its own,
-- which isn't listed here.
create or replace function errand.help_topics() returns table (topic text, about text, words text, names text)
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    values
        ('enqueue', 'enqueue jobs', 'add insert create push submit', 'enqueue enqueue_many'),
        ('find', 'find jobs, what they do, and what became of them', 'search list show why status errors log history',
            'explain list_jobs job_status running_jobs job_progress recent_errors compare_errors stuck overdue '
            'audit mask_secrets looks_secret'),
        ('retry', 'retry failed and cancelled jobs, correct them, or give them up',
            'rerun requeue repeat again correct fix',
            'retry retry_where edit restore_secrets discard discard_where'),
        ('cancel', 'cancel jobs', 'kill stop abort terminate delete remove', 'cancel cancel_where'),
        ('bulk', 'cancel or discard millions of jobs in the background', 'mass many',
            'bulk_start bulk_status bulk_stop'),
        ('rates', 'how much comes in, how fast it is done, and what has changed', 'throughput speed latency statistics',
            'queue_rates enqueue_rates kind_times compare_kinds queue_status kind_status'),
        ('move', 'give waiting jobs another time, priority or queue', 'postpone delay later',
            'reschedule reschedule_where'),
        ('pause', 'stop a queue or a kind, and see what waits', 'stop hold suspend freeze',
            'pause resume queue_status pause_kind resume_kind kind_status dependency_status'),
        ('schedules', 'enqueue by the clock', 'schedule cron timer tick periodic',
            'schedule_status schedule_ticks schedule_put schedule_preview next_ticks schedule_run_now '
            'schedule_pause schedule_resume schedule_drop'),
        ('limits', 'bound how many jobs run at once, or start within a time', 'limit concurrency rate throttle',
            'limit_status set_limit set_rate'),
        ('dependencies', 'hold back the jobs of a service that is down', 'dependency circuit breaker service outage',
            'dependency_status dependency_open dependency_close'),
        ('workers', 'who runs jobs', 'worker drain', 'worker_status drain_worker undrain_worker release_worker'),
        ('health', 'is anything wrong, and what is the fix?', 'doctor monitor alert',
            'health overdue stuck metrics busiest_queues queue_minutes maintenance_status '
            'refresh_statistics'),
        ('retention', 'what the tables take, and what keeps vacuum from them', 'prune cleanup vacuum bloat',
            'retention_status set_retention table_health horizon_blockers maintenance_status'),
        ('cells', 'which database of several this is', 'shard', 'cell cell_of'),
        ('backups', 'copies of the database', 'backup restore clone', 'copy_of adopt'),
        ('upgrades', 'the versions of the schema', 'upgrade migrate version',
            'schema_version migration script upgrade app'),
        ('help', 'this help', '', 'help')
$$;
comment on function errand.help_topics() is 'For errand.help: its topics, with the words, functions and views of each';
