-- The columns that errand.job, errand.history and errand.failed share. The build puts each list in place of its name in
-- the other scripts (`:request_columns`), so a job that moves from table to table loses nothing.
-- `scripts/checks.sh jobcolumns` compares the lists with the tables.

-- What its enqueue asked for.
\set request_columns 'queue, kind, priority, max_attempts, unique_key, limit_key, rate_key, guard, tags, subject, options'

-- The same without unique_key, which lies between them, for moves that change it.
\set request_head 'queue, kind, priority, max_attempts'
\set request_tail 'limit_key, rate_key, guard, tags, subject, options'

-- When it runs, and how far it is. Its payload and its record of attempts change where it moves, so each move names
-- them itself.
\set attempt_columns 'created_at, run_at, not_after, worker_id, started_at, attempt, crashes, waiting_key'
