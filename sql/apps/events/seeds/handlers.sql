-- handlers: the SQL functions of this app that handle jobs.
select errand_internal.store_handler('event_purge', 'events.handle_purge', '300 s', 'default', 5, 1, null);
select errand_internal.store_handler('event_reveal', 'events.handle_reveal', '60 s', 'default', 10, 1, null);
