-- enqueue_tick: enqueues the job of a tick as its schedule's owner, who may follow it. Returns its id.
--
-- Raises 42501 if the owner may no longer enqueue: the schedule shows that as its problem, and is tried again.
create or replace function errand_internal.enqueue_tick(
    owner text, kind text, payload jsonb, queue text, tick timestamptz
) returns bigint
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
begin
    if not exists (
        select from pg_roles where rolname = owner and pg_has_role(oid, 'errand_enqueuer', 'member'))
    then
        raise exception 'schedule: expected an owner who may enqueue, got %', quote_literal(owner)
            using errcode = 'insufficient_privilege', hint = format('grant errand_enqueuer to %I', owner);
    end if;
    return (
        select job_id
        from errand_internal.insert_job(
            kind, payload, queue, tick, null, null, null, null, 'keep', null, null, null, null, null, owner, null));
end
$$;
