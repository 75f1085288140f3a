-- guards: the functions of ours that are asked whether a job is still wanted.
select errand.guard_put('activity_wants_end', 'activity.wants_end');
