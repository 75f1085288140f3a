-- erasure_status: the receipts of erasures.
-- errand: for enqueuer, ops, monitor
-- errand: hides reason
create or replace view people.erasure_status as
select id, erased_at, rows_in_all, rows_by_app, reason
from people.erasure;
comment on view people.erasure_status is 'The receipts of erasures: numbers only, without the person';
comment on column people.erasure_status.id is 'the receipt''s id';
comment on column people.erasure_status.erased_at is 'when the rows were removed';
comment on column people.erasure_status.rows_in_all is 'number of rows that were removed or anonymised';
comment on column people.erasure_status.rows_by_app is
    'the same for each app; errand = the jobs and actions of the queue';
comment on column people.erasure_status.reason is 'why, in the words of the caller';
