-- marks_of: returns a queue's marks for a worker that pulls, one for each priority: the positions up to which a scan
-- found nothing. The marks proper of a program's worker may lie above a job whose claim was rolled back. That worker
-- finds it by its own scans (errand_internal.lowest_waiting_v1); one that pulls makes none.
create or replace function errand_internal.marks_of(marks jsonb, queue text) returns bigint[]
-- Not in SQL: that would be planned in each call.
language plpgsql immutable set search_path = pg_catalog, errand, pg_temp as $$
declare
    existing constant jsonb := marks -> queue;
begin
    return array[
        coalesce(existing ->> 4, '0'), coalesce(existing ->> 5, '0'), coalesce(existing ->> 6, '0'),
        coalesce(existing ->> 7, '0')]::bigint[];
end
$$;
