-- batch_open: opens a batch: jobs that are enqueued with its id, and jobs that are enqueued once they have ended.
-- Returns the id.
--
--   select errand.batch_open('import', on_finish => '{"kind": "noop"}');
--
-- A callback is a job, named as in errand.enqueue_many by kind, payload, queue, priority, max_attempts, limit_key,
-- rate_key, tags, subject, options and kind_defaults. It is enqueued once at most, whatever is retried later:
--   on_success  all jobs of the batch have succeeded
--   on_finish   all have ended, in whichever way
--   on_failure  the first one has failed for good, was cancelled or became obsolete; the others go on
-- If its payload is an object that isn't encrypted, the batch is added as "batch": its id, name, properties and numbers
-- of jobs.
--
-- The batch ends once it is closed (errand.batch_close) and none of its jobs is left. The login that opened it may use
-- it, and members of that, of errand_worker and of errand_ops. It stays on record for 30 days after its end. name has
-- up to 200 characters and need not be unique; properties is an object of up to 16 KB as text. Raises ER422, ER413 and
-- ER404 as errand.enqueue does.
-- errand: for enqueuer, worker, ops
-- errand: topic batches
create or replace function errand.batch_open(
    name text, on_success jsonb default null, on_finish jsonb default null, on_failure jsonb default null,
    properties jsonb default null
) returns bigint
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
declare
    opened bigint;
begin
    perform errand_internal.check_name('batch_open', batch_open.name);
    perform errand_internal.check_callback('on_success', batch_open.on_success);
    perform errand_internal.check_callback('on_finish', batch_open.on_finish);
    perform errand_internal.check_callback('on_failure', batch_open.on_failure);
    if jsonb_typeof(batch_open.properties) not in ('object', 'null') then
        raise exception 'batch_open: properties: expected an object, got %', jsonb_typeof(batch_open.properties)
            using errcode = 'ER422';
    elsif octet_length(batch_open.properties::text) > 16384 then
        raise exception 'batch_open: properties: expected at most 16384 bytes as text, got %',
            octet_length(batch_open.properties::text)
            using errcode = 'ER413', hint = 'Store the data and put its key into the properties.';
    end if;
    opened := nextval('errand.job_id_seq');
    insert into errand.batch (id, owner, name, on_success, on_finish, on_failure, properties)
    values (
        opened, session_user, batch_open.name, nullif(batch_open.on_success, 'null'),
        nullif(batch_open.on_finish, 'null'), nullif(batch_open.on_failure, 'null'),
        nullif(batch_open.properties, 'null'));
    return opened;
end
$$;
