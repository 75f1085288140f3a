-- handlers: the SQL functions of this app that handle jobs.
select errand_internal.store_handler('device_prune', 'devices.handle_prune', '60 s', 'default', 5, 2, null);
