-- handlers: the SQL functions of this app that handle jobs.
select errand_internal.store_handler('number_pool', 'identity.handle_pool', '30 s', 'default', 5, 2, null);
