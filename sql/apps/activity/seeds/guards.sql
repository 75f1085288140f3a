-- guards: registers the guards of this app.
--
-- errand.put_guard runs with the rights of errand_owner, which gets this schema by errand_internal.apply_rights.
select errand_internal.apply_rights();
select errand.put_guard('activity_wants_end', 'activity.wants_end');
