-- move_obsolete: moves waiting jobs, by their row ids, from errand.job to the history as obsolete, each with its
-- reason.
create or replace function errand_internal.move_obsolete(row_ids tid[], reasons text[]) returns void
language sql volatile set search_path = pg_catalog, errand, pg_temp as $$
    with gone as (
        delete from errand.job
        using unnest(row_ids, reasons) as asked(row_id, reason)
        where job.ctid = asked.row_id
        returning job.*, asked.reason
    )
    insert into errand.history (id, :request_columns, :attempt_columns, attempts, payload, payload_day, state, reason)
    select id, :request_columns, :attempt_columns, attempts, payload, payload_day, 'obsolete', left(reason, 4000)
    from gone
$$;
