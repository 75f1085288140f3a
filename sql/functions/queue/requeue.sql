-- requeue: gives a job that becomes available again a new place at the end of the line.
--
-- Workers remember a line below which nothing waits; a job that came back with its old line would stay unseen.
create or replace function errand.requeue() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    -- The transaction id comes before the line: a snapshot then always shows who may still hold a smaller line.
    perform pg_current_xact_id();
    new.line := nextval('errand.job_line');
    new.worker_id := null;
    return new;
end
$$;
comment on function errand.requeue() is 'Trigger: a job that becomes available again joins the end of the line';

drop trigger if exists job_requeue on errand.job;
create trigger job_requeue
before update of state on errand.job
for each row when (new.state = 'available' and old.state <> 'available')
execute function errand.requeue();
comment on trigger job_requeue on errand.job is 'A job that becomes available again joins the end of the line';
