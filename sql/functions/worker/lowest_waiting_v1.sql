-- lowest_waiting_v1: errand.lowest_waiting_v2 as workers of the version before call it: they look from line 0 on.
create or replace function errand.lowest_waiting_v1(queue text, kinds text[], marks bigint[]) returns bigint[]
-- Volatile, so that the second look has a snapshot of its own.
language plpgsql volatile security definer
set search_path = pg_catalog, errand, pg_temp
as $$
begin
    return errand.lowest_waiting_v2(queue, kinds, '{0, 0, 0, 0}', marks);
end
$$;
comment on function errand.lowest_waiting_v1(text, text[], bigint[]) is
    'For workers of the version before: errand.lowest_waiting_v2 from line 0 on';
