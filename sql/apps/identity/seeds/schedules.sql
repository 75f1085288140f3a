-- schedules: the schedules of this app, each of a kind of its name.
select errand_internal.store_schedule('identity', 'number_pool', 'every 60 s');
