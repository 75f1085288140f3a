-- schedules: the schedules of this app, each of a kind of its name.
-- It also enqueues removals that the store refused before.
select errand_internal.store_schedule('events', 'event_purge', 'every 15 s');
