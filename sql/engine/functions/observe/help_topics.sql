-- help_topics: returns the topics of errand.help in their order: what each is about, and words by which people look
-- for it. The heads of functions and views name their topics. Each installed app is a topic of its own, which isn't
-- listed here.
create or replace function errand_internal.help_topics() returns table (topic text, about text, words text)
language sql immutable set search_path = pg_catalog, errand, pg_temp as $$
    values
        ('enqueue', 'enqueue jobs', 'add insert create push submit'),
        ('handlers', 'run jobs by SQL functions', 'handler function plpgsql worker run'),
        ('endpoints', 'run jobs by HTTP', 'http webhook url handler server callback post'),
        ('pull', 'run jobs in any language', 'worker handler python node go poll fetch claim lease ack heartbeat'),
        ('follow', 'see, wait for and cancel jobs of your own', 'await result wait output progress own'),
        ('signals', 'wake jobs that wait for an outside event', 'event wait approval callback webhook resume'),
        ('api', 'who may enqueue by HTTP', 'http rest token curl webhook'),
        ('batches', 'enqueue jobs as a batch, and a job after all of them', 'batch group callback progress bulk'),
        ('find', 'find jobs, what they do, and what became of them', 'search list show why status errors log history'),
        ('retry', 'retry failed and cancelled jobs, correct them, or give them up',
            'rerun requeue repeat again correct fix'),
        ('cancel', 'cancel jobs', 'kill stop abort terminate delete remove'),
        ('undo', 'take an action back', 'revert restore rollback mistake'),
        ('bulk', 'cancel or discard millions of jobs in the background', 'mass many'),
        ('rates', 'how much comes in, how fast it is done, and what has changed',
            'throughput speed latency statistics'),
        ('move', 'give waiting jobs another time, priority or queue', 'postpone delay later'),
        ('pause', 'stop a queue or a kind, and see what waits', 'stop hold suspend freeze'),
        ('schedules', 'enqueue by the clock', 'schedule cron timer tick periodic'),
        ('limits', 'bound how many jobs run at once, or start within a time', 'limit concurrency rate throttle'),
        ('circuits', 'hold back the jobs of a service that is down', 'circuit breaker service outage dependency'),
        ('workers', 'who runs jobs', 'worker drain'),
        ('health', 'is anything wrong, and what is the fix?', 'doctor monitor alert'),
        ('retention', 'what the tables take, and what keeps vacuum from them', 'prune cleanup vacuum bloat'),
        ('cells', 'which database of several this is', 'shard'),
        ('backups', 'copies of the database', 'backup restore clone'),
        ('upgrades', 'the versions of the schema', 'upgrade migrate version'),
        ('help', 'this help', '')
$$;
