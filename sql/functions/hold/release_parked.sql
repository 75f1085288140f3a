-- release_parked: lets parked jobs go whose dependency is up or whose limit has room; the part of promotion that knows them.
--
-- Dependencies come first, since whoever ends jobs locks in that order too. Of the limits as many are looked at as 50 ms
-- allow; the next call goes on behind the last one. Finished jobs make room at once by errand.release_v1, so this finds
-- what a crash has left, or an older worker, or a limit that was raised. Costs one look at an empty index while nothing
-- is parked.
create or replace function errand.release_parked() returns void
language plpgsql set search_path = pg_catalog, errand, pg_temp
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
    waits_for text := 'dependency:';
    started timestamptz := clock_timestamp();
    before text;
begin
    if not exists (select from errand.job where parked_for is not null) then
        return;
    end if;
    loop
        select parked_for into waits_for
        from errand.job
        where parked_for > waits_for and parked_for < 'limit:'
        order by parked_for
        limit 1;
        exit when not found;
        perform errand.release_dependency(substr(waits_for, length('dependency:') + 1));
    end loop;
    before := coalesce(nullif(current_setting('errand.released_limit', true), ''), 'limit:');
    waits_for := before;
    loop
        select parked_for into waits_for
        from errand.job
        where parked_for > waits_for and parked_for >= 'limit:'
        order by parked_for
        limit 1;
        if not found then
            waits_for := '';
            exit;
        end if;
        exit when not errand.lock_limits();
        perform errand.release_limit(substr(waits_for, length('limit:') + 1));
        exit when clock_timestamp() > started + interval '50 milliseconds';
    end loop;
    perform set_config('errand.released_limit', waits_for, false);
end
$$;
comment on function errand.release_parked() is
    'Lets parked jobs go whose dependency is up or whose limit has room';
