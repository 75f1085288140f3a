-- schedules: the schedules of this app, each of a kind of its name.
-- Often enough that most of the promised minute is left after the wait for a tick.
select errand_internal.store_schedule('pairing', 'invite_expiry', 'every 15 s');
