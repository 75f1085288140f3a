-- handlers: the SQL functions of this app that handle jobs.
select errand_internal.store_handler('moment_arrival', 'moments.handle_arrival', '30 s', 'default', 10, 2, null);
