-- resume_kind: ends the pause of a kind. Its parked jobs are released, the oldest first, 100 in the first second and
-- more in each next one.
--
--   select errand.resume_kind('newsletter');
--
-- Does nothing if the kind is not paused. Raises ER404 for a kind that no worker and no job has named.
-- errand: for ops
-- errand: topic pause
create or replace function errand.resume_kind(kind text, reason text default null) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('name', 'kind:' || resume_kind.kind);
    was constant jsonb := errand_internal.setting('circuit', key);
begin
    perform
    from errand.circuit
    where name = 'kind:' || resume_kind.kind and opened_at is not null
    for update;
    if found then
        perform errand_internal.circuit_closed('kind:' || resume_kind.kind);
        perform errand_internal.note_setting(
            errand_internal.record_action(
                'resume_kind', jsonb_build_object('kind', resume_kind.kind), resume_kind.reason),
            'circuit', key, was);
    else
        perform errand_internal.check_known(
            'resume_kind: kind', 'one that a worker or a job has named', resume_kind.kind,
            errand_internal.known_kinds()
                || array(select substr(name, 6) from errand.circuit where name like 'kind:%'));
    end if;
end
$$;
