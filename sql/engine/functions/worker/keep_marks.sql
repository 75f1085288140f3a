-- keep_marks: trigger function that stores the marks of a worker whose row is deleted. They stay valid until the server
-- restarts: no job of the worker's kinds waits below them, nor ever will.
--
-- Each worker has a row of its own, so no transaction waits for another. errand_internal.prune removes the older
-- ones.
create or replace function errand_internal.keep_marks() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    insert into errand.mark (server_start, kinds, marks) values (old.server_start, old.kinds, old.marks);
    return null;
end
$$;

-- Only if it is missing, because its creation locks the table.
do $do$
begin
    if not exists (select from pg_trigger where tgrelid = 'errand.worker'::regclass and tgname = 'worker_marks') then
        create trigger worker_marks
        after delete on errand.worker
        for each row when (old.marks <> '{}' and old.server_start is not null)
        execute function errand_internal.keep_marks();
        comment on trigger worker_marks on errand.worker is 'Stores the marks of a worker that leaves or was lost';
    end if;
end
$do$;
