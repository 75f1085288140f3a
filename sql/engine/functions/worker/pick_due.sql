-- pick_due: picks up to `most` due jobs of a claim that may run: first those in `met`, which the claim has locked, then
-- the next ones behind the marks (errand_internal.lock_due).
--
-- Jobs are locked in their order first, without any decision. Some of them need one (errand_internal.admit). If some
-- may not run, it goes on behind them. After 100 such jobs it takes jobs that may from behind them
-- (errand_internal.pick_beyond), and removes such jobs from the next 20,000 positions (errand_internal.clear_blocked),
-- or 2,000 if it has jobs to run or is durable. Guards get 250 ms; jobs whose guard was not called by then stay in the
-- queue.
--
-- At most begin_now jobs begin at once. rest says what is left, as in errand_internal.claim_v1. took_handed_back says
-- that a picked job lies below the marks. may_lock is as in errand_internal.admit.
create or replace function errand_internal.pick_due(
    scope errand.claim_scope, marks bigint[], met tid[], most int, begin_now int, may_lock boolean, durable boolean,
    out picked tid[], out ids bigint[], out rest text, out took_handed_back boolean
)
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
#variable_conflict use_column
declare
    starts bigint[] := marks;
    begin_left int := begin_now;
    -- Jobs that come next, those of them that need a decision, and their number that may not run.
    locked tid[] := met;
    undecided tid[];
    blocked int := 0;
    visited int := 0;
    room int := most - coalesce(cardinality(met), 0);
    last_attempts int := coalesce(cardinality(met), 0);
    needs_trim boolean := met is not null;
    is_checked boolean := met is not null;
    guards_end timestamptz;
    scanned int;
    due record;
    admitted record;
    cleared record;
    last record;
begin
    loop
        select * into due from errand_internal.lock_due(scope, starts, met, room);
        scanned := coalesce(cardinality(due.locked), 0);
        visited := visited + scanned;
        ids := due.ids;
        undecided := locked || due.undecided;
        locked := locked || due.locked;
        last_attempts := last_attempts + due.last_attempts;
        took_handed_back := took_handed_back or due.took_handed_back;
        needs_trim := needs_trim or due.needs_trim;
        if undecided is null then
            picked := picked || locked;
        else
            is_checked := true;
            select * into admitted
            from errand_internal.admit(undecided, scope.checked, begin_left, may_lock, guards_end);
            may_lock := admitted.may_lock;
            guards_end := admitted.guards_end;
            if cardinality(undecided) = cardinality(locked) then
                picked := picked || admitted.fit;
            else
                picked := picked || array(
                    select row_id
                    from unnest(locked) as row_id
                    where row_id <> all (undecided) or row_id = any (admitted.fit));
            end if;
            begin_left := begin_left - admitted.begun;
            blocked := blocked + admitted.blocked;
            rest := least(rest, admitted.rest);
        end if;
        exit when scanned < room or cardinality(picked) >= most or visited >= most + 100 or blocked >= 100;
        -- It goes on behind these. Released jobs lie far behind them.
        for last in
            select job.priority, max(job.queue_position) filter (where job.is_handed_back is null) as position,
                array_agg(job.ctid) filter (where job.is_handed_back) as handed_back
            from errand.job
            where job.ctid = any (locked) and (met is null or job.ctid <> all (met))
            group by job.priority
        loop
            starts[last.priority] := greatest(starts[last.priority], last.position);
            met := met || last.handed_back;
        end loop;
        locked := null;
        room := least(most - coalesce(cardinality(picked), 0), most + 100 - visited);
        if admitted.blocked * 2 >= scanned then
            -- So that a claim of few jobs decides on more than those at once.
            select * into cleared
            from errand_internal.clear_blocked(scope, starts, picked, 100, may_lock);
            blocked := blocked + cleared.removed;
            may_lock := cleared.may_lock;
        end if;
    end loop;
    if blocked >= 100 then
        locked := nullif(
            errand_internal.pick_beyond(scope, marks, picked, most - coalesce(cardinality(picked), 0)), '{}');
        if locked is not null then
            select * into admitted from errand_internal.admit(locked, scope.checked, begin_left, may_lock, guards_end);
            may_lock := admitted.may_lock;
            picked := picked || admitted.fit;
            begin_left := begin_left - admitted.begun;
            rest := least(rest, admitted.rest);
            needs_trim := true;
        end if;
    end if;
    if picked is not null and (needs_trim or last_attempts > begin_left) then
        select trimmed.fit, least(pick_due.rest, trimmed.rest)
        into picked, rest
        from errand_internal.trim_claim(picked, begin_now) as trimmed;
        is_checked := true;
    end if;
    if is_checked then
        ids := array(select id from errand.job where ctid = any (picked));
    end if;
    if scope.has_crashed then
        rest := coalesce(rest, 'slots');
    end if;
    if blocked >= 100 then
        rest := 'more';
        perform errand_internal.clear_blocked(
            scope, marks, picked, case when picked is null and not durable then 20000 else 2000 end, may_lock);
    end if;
end
$$;
