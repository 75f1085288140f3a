-- batch_state: returns open, closed or ended.
-- errand: for ops, monitor
create or replace function errand_internal.batch_state(batch errand.batch) returns text
language sql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select case
        when batch.ended_at is not null then 'ended' when batch.closed_at is not null then 'closed' else 'open'
    end
$$;
