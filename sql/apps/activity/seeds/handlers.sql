-- handlers: the SQL functions of this app that handle jobs.
select errand_internal.store_handler('activity_cleanup', 'activity.handle_cleanup', '60 s', 'default', 5, 2, null);
