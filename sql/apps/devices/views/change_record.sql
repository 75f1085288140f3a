-- change_record: each change of a device: its user before and after, and why it was retired.
-- errand: for enqueuer, ops, monitor
-- errand: hides user_id, from_user
create or replace view devices.change_record as
select id, device_id, at, what, user_id, from_user, from_device, reason
from devices.change;
comment on view devices.change_record is 'Changes of devices, for 30 days';
comment on column devices.change_record.id is 'the change''s number, in their order';
comment on column devices.change_record.device_id is 'the device';
comment on column devices.change_record.at is 'when';
comment on column devices.change_record.what is
    'registered (new), moved (from another person), revived (after it was retired), retired (its token is invalid), '
    'removed (by its app), dropped (its person has 20 newer ones)';
comment on column devices.change_record.user_id is 'its person from then on, or until then';
comment on column devices.change_record.from_user is 'moved: the person before; null after that person was erased';
comment on column devices.change_record.from_device is 'moved: the id that the token had with the person before';
comment on column devices.change_record.reason is 'why: retired, revived';
