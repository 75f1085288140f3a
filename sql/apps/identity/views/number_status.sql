-- number_status: the numbers that were ever assigned.
-- errand: for enqueuer, ops, monitor
-- errand: hides number, user_id
create or replace view identity.number_status as
select number, user_id, assigned_at from identity.number;
comment on view identity.number_status is 'The numbers that were ever assigned';
comment on column identity.number_status.number is 'ten digits';
comment on column identity.number_status.user_id is 'its user; null = the user was erased';
comment on column identity.number_status.assigned_at is 'when it was assigned';
