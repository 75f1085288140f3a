-- check_known_queue: raises ER422 for an invalid name of a queue, and ER404 for a queue that no job, kind or worker has
-- named so far, unless forced. The hint has similar names.
create or replace function errand_internal.check_known_queue(action text, queue text, force boolean) returns void
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    if check_known_queue.queue is null or check_known_queue.queue !~ '^[a-z][a-z0-9_.-]{0,99}$' then
        raise exception '%: queue: expected a-z, then up to 99 of a-z 0-9 _ . -, got %', action,
            quote_nullable(left(check_known_queue.queue, 120)) using errcode = 'ER422';
    elsif not coalesce(force, false) then
        perform errand_internal.check_known(
            action || ': queue', 'one that a job, a kind or a worker has named', check_known_queue.queue,
            errand_internal.known_queues(), 'force => true does it anyway.');
    end if;
end
$$;
