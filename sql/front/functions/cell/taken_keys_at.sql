-- taken_keys_at: for errand_front.route: returns those of the unique keys that unfinished jobs of a cell have.
create or replace function errand_front.taken_keys_at(place int, keys text[]) returns setof text
language plproxy as $$
    cluster 'errand_cells';
    run on place;
    select taken from errand.taken_keys_v1(keys) as taken;
$$;
comment on function errand_front.taken_keys_at(int, text[]) is
    'For errand_front.route: returns those of the unique keys that unfinished jobs of a cell have';
