-- schedules: the schedules of this app, each of a kind of its name.
select errand_internal.store_schedule('activity', 'activity_cleanup', 'every 60 s');
