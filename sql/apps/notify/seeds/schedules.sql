-- schedules: the schedules of this app, each of a kind of its name.
select errand_internal.store_schedule('notify', 'notification_cleanup', 'every 600 s');
