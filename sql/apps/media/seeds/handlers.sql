-- handlers: the SQL functions of this app that handle jobs.
select errand_internal.store_handler('removal_cleanup', 'media.handle_removals', '30 s', 'default', 5, 1, null);
