-- waiting_for: returns what a parked job waits for, as a sentence: limit tenant/42 is full. Null for null.
-- errand: for ops, monitor
create or replace function errand_internal.waiting_for(parked_for text) returns text
language sql immutable security definer set search_path = pg_catalog, errand, pg_temp as $$
    select case
        when parked_for like 'limit:%' then format('limit %s is full', substr(parked_for, 7))
        when parked_for like 'circuit:kind:%' then format('kind %s is paused', substr(parked_for, 14))
        when parked_for like 'circuit:%' then format('circuit %s is open', substr(parked_for, 9))
        when parked_for = 'crash' then 'it was in two crashes of its worker, and will run alone'
    end
$$;
