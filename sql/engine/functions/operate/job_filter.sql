-- job_filter: reads the filter of cancel_where and its siblings. errand_internal.job_condition makes a condition of it.
--
--   {"queue": "images", "kind": "image_compression", "state": "failed", "tag": "import", "unique_key": "photo/17",
--    "limit_key": "tenant/4", "error": "bucket", "fingerprint": "photo #: no bucket", "created_after": "2026-03-01",
--    "created_before": "2026-03-02T12:00Z", "ended_after": "2026-03-01", "ended_before": "2026-03-02", "batch": "4711"}
--
-- A job must match all keys. error is a part of the last error's text, and fingerprint what errand_internal.fingerprint
-- returns for it; times are any that PostgreSQL reads. Raises ER422 for another key, for a value of another type, and
-- for an empty filter, which would match every job.
create or replace function errand_internal.job_filter(
    action text, filter jsonb, states text[]
) returns errand.job_choice
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    allowed constant text[] := array(
        select attname::text
        from pg_attribute
        where attrelid = 'errand.job_choice'::regclass and attnum > 0 and not attisdropped
        order by attnum);
    entry record;
    choice errand.job_choice;
begin
    if jsonb_typeof(filter) is distinct from 'object' or filter = '{}' then
        raise exception '%: filter: expected a JSON object with at least one of %, got %',
            action, array_to_string(allowed, ', '), coalesce(left(filter::text, 100), 'null')
            using errcode = 'ER422', hint = 'An empty filter would match every job: name a queue at least.';
    end if;
    for entry in select key, value from jsonb_each(filter) order by key loop
        if entry.key <> all (allowed) then
            raise exception '%: filter: expected keys of %, got %',
                action, array_to_string(allowed, ', '), quote_literal(left(entry.key, 100)) using errcode = 'ER422';
        elsif jsonb_typeof(entry.value) <> 'string' then
            raise exception '%: filter.%: expected a string, got %', action, entry.key, left(entry.value::text, 100)
                using errcode = 'ER422';
        elsif entry.key = 'batch' and entry.value #>> '{}' !~ '^[0-9]{1,18}$' then
            raise exception '%: filter.batch: expected the id of a batch, got %', action,
                left(entry.value::text, 100)
                using errcode = 'ER422';
        end if;
    end loop;
    begin
        choice := jsonb_populate_record(null::errand.job_choice, filter);
    exception
        when data_exception then
            raise exception '%: filter: expected times such as 2026-03-01T12:00Z, got %', action,
                left(filter::text, 300)
                using errcode = 'ER422';
    end;
    if choice.state <> all (states) then
        raise exception '%: filter.state: expected one of %, got %',
            action, array_to_string(states, ', '), quote_literal(left(choice.state, 100)) using errcode = 'ER422';
    end if;
    return choice;
end
$$;
