-- screen: whether a job that is about to be claimed may run now. If not, it is taken out of line here: obsolete when it is
-- too late or its guard says no, parked when what it needs is down or its limit is full.
--
-- The claim calls it only for jobs with such an option and for kinds whose dependency is down (held), in its scan, with
-- the job's row locked. It counts what it sets aside in the setting errand.set_aside, so that the claim can end.
create or replace function errand.screen(job_id bigint, held text[]) returns boolean
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    asked errand.job;
    needed text;
    wanted boolean;
    problem text;
begin
    select * into asked from errand.job where id = screen.job_id;
    if asked.kind = any (held) then
        select dependency into needed from errand.kind where name = asked.kind;
        -- One job may try.
        if exists (
            select from errand.dependency
            where name = needed and probe_job_id = asked.id and probe_line = asked.line)
        then
            needed := null;
        end if;
    end if;
    if asked.not_after < now() then
        perform errand.end_in_history(asked, 'obsolete', null, 'not started by ' || asked.not_after);
    elsif needed is not null then
        perform errand.park(asked.id, 'dependency:' || needed);
    else
        if asked.guard is not null then
            begin
                wanted := errand.ask_guard(asked.guard, asked.payload);
            exception
                -- Whatever a guard raises is its own job's trouble.
                when others then
                    problem := format('guard %s: %s [%s]', asked.guard, sqlerrm, sqlstate);
            end;
        end if;
        if problem is not null then
            perform errand.guard_failed(asked, problem);
        elsif not wanted then
            perform errand.end_in_history(asked, 'obsolete', null, format('guard %s said no', asked.guard));
        elsif asked.limit_key is null or errand.admit(asked) then
            return true;
        else
            perform errand.park(asked.id, 'limit:' || asked.limit_key);
        end if;
    end if;
    perform set_config(
        'errand.set_aside', (coalesce(nullif(current_setting('errand.set_aside', true), ''), '0')::int + 1)::text, true);
    return false;
end
$$;
comment on function errand.screen(bigint, text[]) is
    'Whether a job that is about to be claimed may run now; if not, ends or parks it';
