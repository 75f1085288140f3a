-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hijack
select identity.assign('anna');

-- case: hidden
identity.number_status: number user_id;

-- case: person
select identity.assign('user-4711');

-- case: bench
select identity.set_pool_target(10, 'a test');
