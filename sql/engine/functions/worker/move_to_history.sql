-- move_to_history: moves one job, as given, from errand.job to the history, and tells the jobs that wait for it:
-- errand_internal.parents_ended, order_ended.
create or replace function errand_internal.move_to_history(
    job errand.job, state text, output jsonb, reason text, releases boolean default true
) returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    delete from errand.job as live where live.id = job.id;
    insert into errand.history (
        id, :request_columns, :attempt_columns, attempts, payload, payload_day, state, output, reason)
    select
        id, :request_head, coalesce(unique_key, waiting_key), :request_tail,
        :attempt_columns, attempts, payload, payload_day, move_to_history.state,
        move_to_history.output, left(move_to_history.reason, 4000)
    from (select job.*) as given;
    if move_to_history.state <> 'succeeded' and job.options ? 'batch' then
        perform errand_internal.note_unsuccessful(
            array[job.id], array[(job.options ->> 'batch')::bigint], move_to_history.state);
    elsif job.options ? 'batch' then
        perform errand_internal.batch_moved();
    end if;
    if state = 'cancelled' and job.unique_key is not null then
        perform errand_internal.end_periods(array[job.id], array[job.unique_key]);
    end if;
    perform errand_internal.parents_ended(array[job.id], releases);
    if job.options ? 'order_key' then
        perform errand_internal.order_ended(array[job.options ->> 'order_key'], array[job.id], releases);
    end if;
end
$$;
