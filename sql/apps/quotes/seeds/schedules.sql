-- schedules: the schedules of this app, each of a kind of its name.
select errand_internal.store_schedule('quotes', 'quote_rotation', '7 * * * *');
select errand_internal.store_schedule('quotes', 'daily_quote', 'every 15 s');
