-- 0005_crash: finds the jobs that were running in a crash of their worker.
--
-- Why     a worker takes one of them at a time, and those of two crashes run alone: one that ends its worker doesn't
--         take its neighbours along.
-- Locks   errand.job, while the index is built: a second for each million jobs that wait.
-- Before  nothing was released before.
create index job_crashed_index on errand.job (id) where crashes >= 1;
comment on column errand.job.parked_for is
    'what a parked job waits for: limit:KEY, dependency:NAME, or crash: that it runs alone, after two crashes';
