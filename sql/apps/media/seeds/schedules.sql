-- schedules: the schedules of this app, each of a kind of its name.
-- Originals go within 15 s of the delivery of their results.
select errand_internal.store_schedule('media', 'removal_cleanup', 'every 15 s');
