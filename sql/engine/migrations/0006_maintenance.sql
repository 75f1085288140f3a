-- The maintenance tasks, and the locks of those that may not run twice.
create table errand.maintenance_task (
    done_at timestamptz,
    took_ms double precision,
    share real,
    is_long boolean,
    name text not null,
    pause interval,
    pause_if_more interval,
    longest_wait interval not null,
    done_by text,
    note text,
    memory text,
    constraint maintenance_task_pkey primary key (name)
) with (fillfactor = 50);
comment on table errand.maintenance_task is
    'The maintenance tasks, how often they run, and the last run of each: errand.maintenance_status shows it';
comment on column errand.maintenance_task.done_at is
    'start of the last run; or when it was probed last and had nothing to do, to half a minute';
comment on column errand.maintenance_task.took_ms is 'how long the last run took';
comment on column errand.maintenance_task.share is 'the most of a session''s time that it takes';
comment on column errand.maintenance_task.is_long is
    'whether it may take long, so that short tasks don''t wait for it; null: maintenance doesn''t run it';
comment on column errand.maintenance_task.name is 'name of the task';
comment on column errand.maintenance_task.pause is 'from the end of a run to the next one, at least';
comment on column errand.maintenance_task.pause_if_more is 'the same if a run left something to do';
comment on column errand.maintenance_task.longest_wait is 'after that, it is run or probed again at the latest';
comment on column errand.maintenance_task.done_by is 'application_name of the program';
comment on column errand.maintenance_task.note is 'the result';
comment on column errand.maintenance_task.memory is 'where the next run goes on';

-- The share of release: a run checks limits for up to 50 ms. The pause of crashed: as many jobs may wait as a worker
-- had, and most run for less. The share of bulk: other jobs run too. Their longest wait: an idle worker's probe comes
-- each second, a little earlier. The row schedule is recorded by schedulers.
insert into errand.maintenance_task (name, is_long, pause, pause_if_more, share, longest_wait)
values
    ('promote', false, '200 ms', '0', 0.1, '1.1 s'),
    ('crashed', false, '20 ms', '20 ms', 1, '1.1 s'),
    ('release', false, '200 ms', '200 ms', 0.1, '1.1 s'),
    ('rescue', false, '200 ms', '200 ms', 0.02, '5 s'),
    ('bulk', false, '0', '0', 0.5, '1.1 s'),
    ('signals', false, '200 ms', '0', 0.1, '1.1 s'),
    ('flows', false, '250 ms', '0', 0.3, '1.1 s'),
    ('batches', false, '40 ms', '0', 0.3, '1.1 s'),
    ('rates', false, '500 ms', '0', 0.2, '1.1 s'),
    ('orders', false, '250 ms', '0', 0.1, '1.1 s'),
    ('marks', false, '500 ms', '0', 0.1, '1.1 s'),
    ('promote_late', true, '10 s', '0', 0.02, '1 min'),
    ('statistics', true, '10 s', '5 s', 0.02, '100 s'),
    ('partitions', true, '1 hour', '200 ms', 1, '1 hour'),
    ('prune', true, '1 hour', '1 s', 0.02, '1 hour'),
    ('unlisted', true, '1 hour', '5 s', 0.02, '1 hour'),
    ('schedule', null, null, null, null, '20 s');

-- Sequences, since any session sees and changes their values at once and without a transaction id, and no dead rows
-- stay beside a held snapshot. After a crash of the server they begin anew, and all tasks are due.
create unlogged sequence errand.promote_due;
create unlogged sequence errand.crashed_due;
create unlogged sequence errand.release_due;
create unlogged sequence errand.rescue_due;
create unlogged sequence errand.bulk_due;
create unlogged sequence errand.signals_due;
create unlogged sequence errand.flows_due;
create unlogged sequence errand.batches_due;
create unlogged sequence errand.rates_due;
create unlogged sequence errand.orders_due;
create unlogged sequence errand.marks_due;
create unlogged sequence errand.promote_late_due;
create unlogged sequence errand.statistics_due;
create unlogged sequence errand.partitions_due;
create unlogged sequence errand.prune_due;
create unlogged sequence errand.unlisted_due;
create unlogged sequence errand.promoted_upto;
create unlogged sequence errand.step_pruned;
comment on sequence errand.promote_due is 'When the promotion of due jobs is due, in microseconds since 1970';
comment on sequence errand.crashed_due is
    'When the release of jobs that were in two crashes is due, in microseconds since 1970';
comment on sequence errand.release_due is 'When the release of parked jobs is due, in microseconds since 1970';
comment on sequence errand.rescue_due is 'When the rescue of lost workers'' jobs is due, in microseconds since 1970';
comment on sequence errand.bulk_due is 'When the next batch of a bulk action is due, in microseconds since 1970';
comment on sequence errand.signals_due is
    'When waits for signals are to be compared with them again, in microseconds since 1970';
comment on sequence errand.flows_due is
    'When jobs that wait for others are to be compared with their parents again, in microseconds since 1970';
comment on sequence errand.batches_due is
    'When batches are to be looked at again, in microseconds since 1970';
comment on sequence errand.rates_due is
    'When reservations are due to be compared with their jobs, in microseconds since 1970';
comment on sequence errand.orders_due is
    'When order keys are to be looked at again, in microseconds since 1970';
comment on sequence errand.marks_due is 'When the marks of workers that pull are due, in microseconds since 1970';
comment on sequence errand.promote_late_due is
    'When the promotion of jobs whose transaction committed late is due, in microseconds since 1970';
comment on sequence errand.statistics_due is 'When a refresh of the statistics is due, in microseconds since 1970';
comment on sequence errand.partitions_due is
    'When making and dropping of partitions is due, in microseconds since 1970';
comment on sequence errand.prune_due is 'When the deletion of old records is due, in microseconds since 1970';
comment on sequence errand.unlisted_due is
    'When the search for running jobs that no record names is due, in microseconds since 1970';
comment on sequence errand.promoted_upto is 'When the last promoted job was due, in microseconds since 1970';
comment on sequence errand.step_pruned is
    'The job up to which errand_internal.prune_steps has looked at steps; void = at the beginning';

-- errand_internal.try_lock, errand_internal.lock_limits, errand_internal.lock_claims and the functions of partitions
-- lock these tables, which stay empty. A table lock needs a right to the table and no transaction id. Any session could
-- hold an advisory lock.
create table errand.crashed_lock ();
create table errand.schedule_lock ();
create table errand.statistics_lock ();
create table errand.limits_lock ();
create table errand.claims_lock ();
create table errand.partitions_lock ();
comment on table errand.crashed_lock is 'Empty. Locked by the session that releases jobs that were in two crashes';
comment on table errand.schedule_lock is 'Empty. Locked by the session that records that schedules are read';
comment on table errand.statistics_lock is 'Empty. Locked by the session that refreshes the statistics';
comment on table errand.limits_lock is 'Empty. Locked by the session that admits jobs under limits and rates';
comment on table errand.claims_lock is 'Empty. Locked by the session that makes a large claim';
comment on table errand.partitions_lock is 'Empty. Locked by the session that creates or drops partitions';
