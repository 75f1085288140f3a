-- store_payload: trigger function that moves a job's payload of more than 2 KB to errand.payload and leaves the day in
-- the job's row. Takes some 50 us; below 2 KB a second copy in the history costs less.
--
-- A payload that is replaced is deleted from errand.payload. payload_bytes is computed here unless the update sets it.
-- Payloads of jobs that are due in more than a day stay in their rows, since a day of errand.payload is dropped as a
-- whole. So do those that no worker could receive (errand_internal.trim_claim). There is no such trigger for inserts:
-- it would take 10 us of each enqueue.
create or replace function errand_internal.store_payload() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    bytes bigint;
begin
    if old.payload_day is not null then
        perform errand_internal.take_payload(old.payload_day, old.id);
        new.payload_day := null;
    end if;
    if new.payload_bytes is not distinct from old.payload_bytes then
        new.payload_bytes := null;
    end if;
    if pg_column_size(new.payload) <= 2000 or new.run_at > now() + interval '1 day' then
        return new;
    end if;
    bytes := coalesce(new.payload_bytes, errand_internal.payload_bytes(new.payload, 262144));
    if bytes <= 262144 then
        insert into errand.payload (job_id, day, payload)
        values (new.id, (now() at time zone 'UTC')::date, new.payload)
        returning day, null into new.payload_day, new.payload;
        new.payload_bytes := bytes;
    end if;
    return new;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (select from pg_trigger where tgrelid = 'errand.job'::regclass and tgname = 'job_store_payload') then
        create trigger job_store_payload
        before update of payload on errand.job
        for each row when (old.payload_bytes is not null or pg_column_size(new.payload) > 2000)
        execute function errand_internal.store_payload();
        comment on trigger job_store_payload on errand.job is
            'Moves a payload of more than 2 KB to errand.payload, and deletes the replaced one there';
    end if;
end
$do$;
