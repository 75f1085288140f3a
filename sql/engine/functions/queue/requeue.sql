-- requeue: trigger function that gives a job the last position of its queue when it becomes available again, or moves
-- to another queue, priority or kind while it is available.
--
-- Workers remember a mark for each queue and priority: no job of their kinds waits below it. A job with its old
-- position would stay hidden there. A job that is handed back keeps its position, as is_handed_back asks: claims find
-- such jobs by an index of their own. A parked job that is_handed_back asks for gets a new position, and comes first
-- all the same.
--
-- A job with an order key is parked instead, if others of its key come first: errand_internal.may_begin.
create or replace function errand_internal.requeue() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if new.options is not null and new.options ? 'order_key'
        and not errand_internal.may_begin(new.id, new.options ->> 'order_key')
    then
        new.state := 'parked';
        new.parked_for := 'order:' || (new.options ->> 'order_key');
        new.queue_position := null;
        new.worker_id := null;
        return new;
    end if;
    -- The transaction id comes before the position. So a snapshot always shows which transactions may still hold a
    -- lower one.
    perform pg_current_xact_id();
    new.queue_position := nextval('errand.job_position');
    new.worker_id := null;
    if old.state <> 'parked' then
        new.is_handed_back := null;
    end if;
    return new;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (select from pg_trigger where tgrelid = 'errand.job'::regclass and tgname = 'job_requeue') then
        create trigger job_requeue
        before update of state, queue, priority, kind on errand.job
        for each row when (
            new.state = 'available' and (
                old.state <> 'available' and not (old.state = 'running' and new.is_handed_back is true)
                or (new.priority, new.queue, new.kind) is distinct from (old.priority, old.queue, old.kind)))
        execute function errand_internal.requeue();
        comment on trigger job_requeue on errand.job is
            'Gives the last position to a job that becomes available again or moves, unless it is handed back';
    end if;
end
$do$;
