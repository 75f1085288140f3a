-- wake_after_insert: trigger function that wakes sleeping workers after an insert, once for each statement.
--
-- It reads the flag itself, without a query, and calls nothing while no worker sleeps, since each insert pays for it.
create or replace function errand_internal.wake_after_insert() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if pg_sequence_last_value('errand.wake_flag') = 2 then
        perform errand_internal.notify('errand_wake', '');
    end if;
    return null;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (select from pg_trigger where tgrelid = 'errand.job'::regclass and tgname = 'job_wake') then
        create trigger job_wake
        after insert on errand.job
        for each statement execute function errand_internal.wake_after_insert();
        comment on trigger job_wake on errand.job is 'Wakes sleeping workers, once for each statement';
    end if;
end
$do$;
