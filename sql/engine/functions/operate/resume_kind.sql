-- resume_kind: ends the pause of a kind. Its parked jobs are released, the oldest first, 100 in the first second and
-- more in each next one.
--
--   select errand.resume_kind('newsletter');
--
-- Does nothing if the kind is not paused.
create or replace function errand.resume_kind(kind text, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
begin
    perform
    from errand.dependency
    where name = 'kind:' || resume_kind.kind and opened_at is not null
    for update;
    if found then
        perform errand.dependency_closed('kind:' || resume_kind.kind);
        perform errand.record_action(
            'resume_kind', jsonb_build_object('kind', resume_kind.kind), resume_kind.reason);
    end if;
end
$$;
comment on function errand.resume_kind(text, text) is
    'Ends the pause of a kind. Example: select errand.resume_kind(''newsletter'')';
