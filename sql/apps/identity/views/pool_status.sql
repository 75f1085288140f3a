-- pool_status: the pool of free numbers, and how many numbers were assigned.
--
-- free is the distance between two positions, and reads no row.
-- errand: for ops, monitor
create or replace view identity.pool_status as
select
    greatest(
        0,
        (select max(position) from identity.free_number)
            - (select case when is_called then last_value else 0 end from identity.free_position)) as free,
    setting.pool_target, pool.filled_at,
    (select count(*) from identity.number where user_id is not null) as assigned,
    (select count(*) from identity.number where user_id is null) as erased
from identity.setting
cross join identity.pool;
comment on view identity.pool_status is
    'One row: the pool of free numbers, and how many were assigned. The counts read all assigned numbers';
comment on column identity.pool_status.free is 'free numbers that were drawn ahead';
comment on column identity.pool_status.pool_target is 'as many are drawn ahead';
comment on column identity.pool_status.filled_at is 'when the pool was last full; null = never';
comment on column identity.pool_status.assigned is 'numbers that have a user';
comment on column identity.pool_status.erased is 'numbers whose user was erased; they are never assigned again';
