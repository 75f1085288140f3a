-- probe_state: what became of the one job that tries an open dependency: under way, succeeded, failed, or open where it
-- says nothing (handed back, rescued, cancelled, discarded).
--
-- A probe that waits in line is under way however long the line is; where no worker may claim it, for 10 s.
create or replace function errand.probe_state(known errand.dependency) returns text
language plpgsql stable set search_path = pg_catalog, errand, pg_temp as $$
declare
    probe errand.job;
begin
    select * into probe from errand.job where id = known.probe_job_id;
    if found then
        return case
            when probe.queue_position = known.probe_position and (
                probe.state = 'running' or errand.may_be_claimed(probe.queue, probe.kind)
                or known.released_at between clock_timestamp() - interval '10 seconds' and clock_timestamp())
                then 'under way'
            -- It is parked again where it found the dependency down while another session held the dependency's row.
            when probe.state = 'scheduled' or probe.parked_for = 'dependency:' || known.name then 'failed'
            else 'open'
        end;
    end if;
    return case errand.state_of(known.probe_job_id)
        when 'succeeded' then 'succeeded'
        when 'failed' then 'failed'
        else 'open'
    end;
end
$$;
comment on function errand.probe_state(errand.dependency) is 'What became of the job that tries an open dependency';
