-- resume: lets workers claim from a paused queue again.
--
--   select errand.resume('images');
create or replace function errand.resume(queue text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
begin
    update errand.queue
    set paused_at = null, paused_reason = null
    where name = resume.queue;
    perform errand.wake();
end
$$;
comment on function errand.resume(text) is 'Lets workers claim from the queue again';
