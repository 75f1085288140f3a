-- cell_status: one row for each cell, the hottest first: whether it answers, what waits, how much it does.
create or replace view errand_front.cell_status as
select
    cell.cell,
    cell.state,
    loads.cell is not null as is_reachable,
    round(
        (loads.waiting + loads.finished_5_min)::numeric
        / nullif(avg(loads.waiting + loads.finished_5_min) over (), 0), 2) as heat,
    loads.waiting,
    loads.running,
    loads.failed,
    loads.oldest_age,
    round(loads.finished_5_min / 300.0, 1) as finished_per_s,
    loads.workers,
    loads.connections,
    loads.bytes,
    (select count(*) from errand_front.slot where slot.cell = cell.cell) as slots,
    (select count(*) from errand_front.slot where slot.was = cell.cell) as unresolved,
    cell.address
from errand_front.cell
left join errand_front.loads() as loads on loads.cell = cell.cell
order by heat desc nulls first, cell.cell;
comment on view errand_front.cell_status is
    'One row for each cell, the hottest first: whether it answers, what waits, how much it does';
comment on column errand_front.cell_status.cell is 'the cell''s number';
comment on column errand_front.cell_status.state is 'active; or draining: it gets no new jobs';
comment on column errand_front.cell_status.is_reachable is 'whether it has answered';
comment on column errand_front.cell_status.heat is
    'its waiting jobs and those that it finished within 5 minutes; 1 = as many as the average cell';
comment on column errand_front.cell_status.waiting is 'available jobs';
comment on column errand_front.cell_status.running is 'running jobs';
comment on column errand_front.cell_status.failed is 'failed jobs that were neither retried nor discarded';
comment on column errand_front.cell_status.oldest_age is 'how long its oldest waiting job is due';
comment on column errand_front.cell_status.finished_per_s is 'attempts that ended, by second, within 5 minutes';
comment on column errand_front.cell_status.workers is 'live workers';
comment on column errand_front.cell_status.connections is 'sessions of its database';
comment on column errand_front.cell_status.bytes is 'size of its database';
comment on column errand_front.cell_status.slots is 'slots of routing keys, of 1,024, that it takes';
comment on column errand_front.cell_status.unresolved is
    'slots that other cells take now, and of which it may still have unique keys';
comment on column errand_front.cell_status.address is 'how PL/Proxy connects, without user and password';
