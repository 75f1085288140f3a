-- pause_kind: pauses a kind in all queues until errand.resume_kind or the given time. Its jobs park when a claim meets
-- them, and the jobs behind them run. Running jobs go on.
--
--   select errand.pause_kind('newsletter', 'the text is wrong');
--   select errand.pause_kind('newsletter', 'the text is wrong', until => now() + interval '2 hours');
--
-- The pause is a row of errand.circuits with the name kind:newsletter, so a claim pays nothing while no kind
-- is paused and no circuit is open. When it ends, parked jobs are released as those of a circuit: oldest first,
-- 100 in the first second and more in each next one. A paused kind stays paused, with the new reason and time.
--
-- force => true also pauses a kind that no worker has registered. Raises ER404 for such a kind without it, ER422
-- without a reason, for a name over 95 characters, and for a time in the past.
-- errand: for ops
-- errand: topic pause
create or replace function errand.pause_kind(
    kind text, reason text, until timestamptz default null, force boolean default false
) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('name', 'kind:' || pause_kind.kind);
    was constant jsonb := errand_internal.setting('circuit', key);
begin
    perform errand_internal.check_reason('pause_kind', pause_kind.reason);
    if pause_kind.kind is null or pause_kind.kind !~ '^[a-z][a-z0-9_.-]{0,94}$' then
        raise exception 'pause_kind: kind: expected a-z, then up to 94 of a-z 0-9 _ . -, got %',
            quote_nullable(left(pause_kind.kind, 120)) using errcode = 'ER422';
    elsif pause_kind.until <= now() then
        raise exception 'pause_kind: until: expected a time in the future, got %', pause_kind.until
            using errcode = 'ER422';
    elsif not coalesce(pause_kind.force, false) then
        perform errand_internal.check_known(
            'pause_kind: kind', 'one that a worker has registered', pause_kind.kind,
            array(select name from errand.kind), 'force => true pauses it anyway.');
    end if;
    perform errand_internal.check_time(pause_kind.until, 'pause_kind', 'until');
    insert into errand.circuit as existing (name, opened_at, opened_by, until, reason)
    values ('kind:' || pause_kind.kind, now(), 'ops', pause_kind.until, pause_kind.reason)
    on conflict on constraint circuit_pkey do update
    set opened_at = coalesce(existing.opened_at, excluded.opened_at), opened_by = excluded.opened_by,
        until = excluded.until, reason = excluded.reason, probe_job_id = null, probe_position = null;
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'pause_kind', jsonb_strip_nulls(jsonb_build_object('kind', pause_kind.kind, 'until', pause_kind.until)),
            pause_kind.reason),
        'circuit', key, was);
end
$$;
