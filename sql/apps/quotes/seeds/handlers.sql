-- handlers: the SQL functions of this app that handle jobs.
select errand_internal.store_handler('quote_rotation', 'quotes.handle_rotation', '60 s', 'default', 5, 2, null);
