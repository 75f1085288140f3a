-- schedules: the schedules of this app, each of a kind of its name.
select errand_internal.store_schedule('devices', 'device_prune', 'every 3600 s');
