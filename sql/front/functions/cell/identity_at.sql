-- identity_at: for errand cells add: returns the system identifier of a cell's server. A standby has that of its
-- primary.
create or replace function errand_front.identity_at(partition int) returns bigint
language plproxy security definer set search_path = pg_catalog, pg_temp as $$
    cluster errand_front.cluster();
    run on partition;
    select system_identifier from pg_control_system();
$$;
