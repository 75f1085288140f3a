-- identity_at: for errand cells add: returns the system identifier of a cell's server. A standby has that of its
-- primary.
create or replace function errand_front.identity_at(place int) returns bigint
language plproxy as $$
    cluster 'errand_cells';
    run on place;
    select system_identifier from pg_control_system();
$$;
comment on function errand_front.identity_at(int) is
    'For errand cells add: returns the system identifier of a cell''s server';
