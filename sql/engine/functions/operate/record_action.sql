-- record_action: records an operator's action in errand.action: who, when, what and why. It commits and rolls back with
-- the action. Returns the action's number: action_id, which was drawn to note the jobs, or a new one.
--
-- The first 1,000 job ids are stored, and the number of all. Long arguments are cut. A program that acts for somebody,
-- such as the operators' page, names the person and the request in the settings errand.person and errand.request. Both
-- are labels that the login vouches for: any login may set them, and who stays the login.
create or replace function errand_internal.record_action(
    action text, target jsonb, reason text default null, job_ids bigint[] default null, action_id bigint default null
) returns bigint
language sql set search_path = pg_catalog, errand, pg_temp as $$
    insert into errand.action (
        id, who, acting_as, application_name, action, target, reason, jobs, job_ids, person, request)
    overriding system value
    values (
        coalesce(action_id, nextval('errand.action_id_seq')),
        session_user,
        nullif(nullif(current_setting('role', true), 'none'), session_user),
        nullif(current_setting('application_name', true), ''),
        action,
        case when pg_column_size(target) > 8000
            then jsonb_build_object('cut', left(target::text, 4000)) else target end,
        left(reason, 1000),
        coalesce(cardinality(job_ids), 0),
        nullif(job_ids[1:1000], '{}'),
        nullif(left(current_setting('errand.person', true), 200), ''),
        nullif(left(current_setting('errand.request', true), 100), ''))
    returning id
$$;
