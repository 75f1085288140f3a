-- requeue: gives a job a new position at the end of the line when it becomes available again, and when it moves to
-- another queue, priority or kind while it is available.
--
-- Workers remember, for each queue and priority, a position below which nothing of their kinds waits. A job that came
-- there with its old position would stay unseen. One that is handed back keeps it: claims find such jobs by an index of
-- their own, and ask for it in is_handed_back.
create or replace function errand.requeue() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    -- The transaction id comes before the position: a snapshot then always shows who may still hold a smaller one.
    perform pg_current_xact_id();
    new.queue_position := nextval('errand.job_position');
    new.worker_id := null;
    new.is_handed_back := null;
    return new;
end
$$;
comment on function errand.requeue() is
    'Trigger: a job that becomes available again, or moves while it is, gets a position at the end of the line, unless it is handed back';

drop trigger if exists job_requeue on errand.job;
create trigger job_requeue
before update of state, queue, priority, kind on errand.job
for each row when (
    new.state = 'available' and (
        old.state <> 'available' and not (old.state = 'running' and new.is_handed_back is true)
        or (new.priority, new.queue, new.kind) is distinct from (old.priority, old.queue, old.kind)))
execute function errand.requeue();
comment on trigger job_requeue on errand.job is
    'A job that becomes available again, or moves while it is, gets a position at the end of the line, unless it is handed back';
