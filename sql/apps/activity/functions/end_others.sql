-- end_others: ends the activities of other users on the phone that has this push-to-start token: it has changed hands.
-- They disappear at once. Demonstrations stay.
create or replace function activity.end_others(start_token text, user_id text, who text) returns void
language plpgsql set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    given constant text := activity.check_token('start_token', start_token);
    existing uuid;
begin
    for existing in
        select target.id
        from activity.activity as target
        where target.start_token = given and target.user_id <> end_others.user_id and target.ended_at is null
            and target.sender <> 'DEMO'
        order by target.id
    loop
        perform activity.end_now(existing, dismiss_after => '0 s', who => who, why => 'its phone has another user');
    end loop;
end
$$;
