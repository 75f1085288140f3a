-- guards: registers the guards of this app.
--
-- errand.guard_put runs with the rights of errand_owner, which gets this schema by errand.apply_rights.
select errand_internal.apply_rights();
select errand.guard_put('activity_wants_end', 'activity.wants_end');
