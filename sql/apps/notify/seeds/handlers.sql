-- handlers: the SQL functions of this app that handle jobs.
select errand_internal.store_handler('notification_cleanup', 'notify.handle_cleanup', '60 s', 'default', 5, 2, null);
