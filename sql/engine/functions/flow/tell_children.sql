-- tell_children: for errand_internal.parents_ended: decides about up to 1,000 jobs that wait for these ended ones, and
-- about those that wait for what that cancels. Notes which have more, for maintenance.
create or replace function errand_internal.tell_children(ended bigint[]) returns void
language plpgsql
set search_path = pg_catalog, errand, pg_temp
set jit = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off as $$
#variable_conflict use_column
declare
    room int := 1000;
    near bigint[];
    cancelled bigint[];
begin
    while cardinality(ended) > 0 loop
        near := array(
            select child.id
            from unnest(ended) as parent
            cross join lateral (
                select id
                from errand.job
                where parked_for = 'job:' || parent
                order by priority, run_at, id
                limit room) as child
            limit room);
        exit when near = '{}' and room > 0;
        cancelled := (select released.cancelled from errand_internal.release_children(near) as released);
        room := room - cardinality(near);
        if room <= 0 then
            insert into errand.flow_check (parent_id)
            select parent
            from unnest(ended || cancelled) as parent
            where exists (select from errand.job where parked_for = 'job:' || parent);
            exit;
        end if;
        ended := cancelled;
    end loop;
end
$$;
