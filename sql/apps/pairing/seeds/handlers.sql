-- handlers: the SQL functions of this app that handle jobs.
select errand_internal.store_handler('invite_expiry', 'pairing.handle_expiry', '30 s', 'default', 5, 1, null);
