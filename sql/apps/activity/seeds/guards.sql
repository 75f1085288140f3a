-- guards: registers the guards of this app.
select errand.guard_put('activity_wants_end', 'activity.wants_end');
