-- moment_status: of each sender the current moment, and newer ones that are not stored. Older ones are nowhere.
-- errand: for enqueuer, ops, monitor
-- errand: hides sender
create or replace view moments.moment_status as
select
    moment.id as moment_id, moment.pair_id, moment.sender,
    case
        when moment.current_at is not null then 'current'
        when photo.state = 'failed' or upload.state in ('failed', 'cancelled') then 'failed'
        else 'waiting'
    end as state,
    moment.sent_at, moment.current_at
from moments.moment
join media.photo on photo.id = moment.id
left join media.upload_status as upload on upload.photo = moment.id
where not exists (
    select from moments.moment as newer
    where newer.pair_id = moment.pair_id and newer.sender = moment.sender and newer.number > moment.number
        and newer.current_at is not null);
comment on view moments.moment_status is 'Of each sender the current moment, and newer ones that are not stored';
comment on column moments.moment_status.moment_id is 'the moment''s id, which is that of its photo';
comment on column moments.moment_status.pair_id is 'its pair';
comment on column moments.moment_status.sender is 'the user who sent it';
comment on column moments.moment_status.state is
    'waiting (its photo is not stored yet), current, failed (see media.photo_status and media.upload_status)';
comment on column moments.moment_status.sent_at is 'when it was sent';
comment on column moments.moment_status.current_at is 'when it became its sender''s current one';
