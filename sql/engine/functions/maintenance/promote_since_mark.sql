-- promote_since_mark: promotes jobs (errand_internal.promote) from 10 s before the last promoted one, since a search
-- reads dead entries before that. Returns their number.
--
-- It misses a job whose transaction committed later than that, or whose row was locked: the task promote_late finds it.
create or replace function errand_internal.promote_since_mark() returns int
language plpgsql set search_path = pg_catalog, errand, pg_temp as $$
declare
    mark timestamptz := errand_internal.promotion_mark();
    found record;
begin
    select * into found from errand_internal.promote(since => mark - interval '10 seconds');
    if found.last_run_at > mark then
        perform setval('errand.promoted_upto', (extract(epoch from found.last_run_at) * 1000000)::bigint);
    end if;
    return found.promoted;
end
$$;
