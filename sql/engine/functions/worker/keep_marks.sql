-- keep_marks: stores the low-water marks of a worker whose row is removed. What they say stays true until the server
-- starts anew: below them nothing of its kinds waits, nor ever will.
--
-- A row each, so that nobody waits for another one's transaction; errand.prune_v1 removes the older ones.
create or replace function errand.keep_marks() returns trigger
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    insert into errand.mark (server_start, kinds, marks) values (old.server_start, old.kinds, old.marks);
    return null;
end
$$;
comment on function errand.keep_marks() is 'Trigger: stores the low-water marks of a worker that leaves or was lost';

drop trigger if exists worker_marks on errand.worker;
create trigger worker_marks
after delete on errand.worker
for each row when (old.marks <> '{}' and old.server_start is not null)
execute function errand.keep_marks();
comment on trigger worker_marks on errand.worker is 'Stores the low-water marks of a worker that leaves or was lost';
