-- fingerprint_failure: trigger function that stores the fingerprint of each failure.
create or replace function errand_internal.fingerprint_failure() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    new.fingerprint := errand_internal.fingerprint(new.error);
    return new;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (
        select from pg_trigger where tgrelid = 'errand.failed'::regclass and tgname = 'failed_fingerprint'
    ) then
        create trigger failed_fingerprint
        before insert or update of error on errand.failed
        for each row execute function errand_internal.fingerprint_failure();
        comment on trigger failed_fingerprint on errand.failed is 'Stores the fingerprint of each failure';
    end if;
end
$do$;
