-- set_retention: sets how long the ended jobs of a kind stay, by their state; null returns to what the program says.
--
--   select errand.set_retention('image_compression', 'failed', interval '90 days', reason => 'for the audit');
--   select errand.set_retention('image_compression', 'failed', null, reason => 'the audit is over');
--
-- state is succeeded, failed, cancelled or obsolete. It counts before the retention in the kind's policy, from the next
-- pruning on: within an hour. Otherwise failed jobs stay for 30 days, others for 7. errand.retention_status shows it.
--
-- More than 7 days for a frequent kind costs: its rows are moved out of each day before the day is dropped. Less than 7
-- days costs a search of the history at each pruning. Raises ER422 for a state or time out of bounds (1 minute to 10
-- years) and without a reason, and ER404 for a kind that nothing has named so far, with similar names.
-- errand: for ops
-- errand: topic retention
create or replace function errand.set_retention(kind text, state text, keep interval, reason text) returns void
language plpgsql security definer set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    key constant jsonb := jsonb_build_object('kind', set_retention.kind, 'state', set_retention.state);
    was constant jsonb := errand_internal.setting('retention', key);
begin
    perform errand_internal.check_reason('set_retention', set_retention.reason);
    if set_retention.state is null
        or set_retention.state not in ('succeeded', 'failed', 'cancelled', 'obsolete')
    then
        raise exception 'set_retention: state: expected succeeded, failed, cancelled or obsolete, got %',
            quote_nullable(left(set_retention.state, 100)) using errcode = 'ER422';
    elsif set_retention.keep < interval '1 minute' or set_retention.keep > interval '3660 days' then
        raise exception 'set_retention: keep: expected 1 minute to 10 years, or null, got %', set_retention.keep
            using errcode = 'ER422';
    end if;
    perform errand_internal.check_known(
        'set_retention: kind', 'one that a job or a worker has named', set_retention.kind,
        errand_internal.known_kinds());
    if set_retention.keep is null then
        delete from errand.retention as existing
        where existing.kind = set_retention.kind and existing.state = set_retention.state;
    else
        insert into errand.retention (kind, state, keep, reason)
        values (set_retention.kind, set_retention.state, set_retention.keep, set_retention.reason)
        on conflict on constraint retention_pkey do update
        set keep = excluded.keep, reason = excluded.reason, set_at = now(), set_by = session_user;
    end if;
    perform errand_internal.note_setting(
        errand_internal.record_action(
            'set_retention',
            jsonb_build_object('kind', set_retention.kind, 'state', set_retention.state, 'keep', set_retention.keep),
            set_retention.reason),
        'retention', key, was);
end
$$;
