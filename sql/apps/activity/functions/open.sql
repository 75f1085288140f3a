-- open: creates an activity with the job of its end, and the job of its start if there is a start token.
create or replace function activity.open(
    context text, user_id text, sender_id text, sender text, message text, start_token text, token text,
    attributes_type text, attributes jsonb, content_state jsonb, started_at timestamptz, due_at timestamptz,
    dismiss_after interval, who text
) returns uuid
language plpgsql set search_path = pg_catalog, activity, pg_temp as $$
#variable_conflict use_variable
declare
    activity constant uuid := gen_random_uuid();
    -- The app reports the token for this id.
    shown constant jsonb := jsonb_build_object('sender', sender) || coalesce(attributes, '{}')
        || jsonb_build_object('activityId', activity);
    content constant jsonb := coalesce(content_state, jsonb_build_object('sender', sender, 'message', message));
    ends_at constant timestamptz := started_at + interval '8 hours';
    state constant text := case when token is null then 'starting' else 'live' end;
begin
    if coalesce(length(user_id), 0) not between 1 and 200 then
        raise exception '%: user_id: expected 1 to 200 characters, got %', context,
            coalesce(length(user_id)::text, 'null')
            using errcode = 'ER422';
    elsif length(sender_id) not between 1 and 200 then
        raise exception '%: sender_id: expected 1 to 200 characters, or null, got %', context, length(sender_id)
            using errcode = 'ER422';
    elsif attributes_type is null or attributes_type !~ '^[A-Za-z_][A-Za-z0-9_.]{0,199}$' then
        raise exception '%: attributes_type: expected the name of a Swift type, got %',
            context, quote_nullable(left(attributes_type, 100)) using errcode = 'ER422';
    elsif dismiss_after not between interval '0' and interval '4 hours' then
        raise exception '%: dismiss_after: expected 0 to 4 hours, or null, got %', context, dismiss_after
            using errcode = 'ER422';
    end if;
    perform activity.check_account(context, who);
    perform activity.check_content(context, sender, message, shown, content);
    insert into activity.activity (
        id, started_at, due_at, ends_at, token_set_at, dismiss_after, sent_version, state, user_id, sender_id, sender,
        message, start_token, token, attributes_type, attributes, content_state)
    values (
        activity, started_at, due_at, ends_at, case when token is not null then clock_timestamp() end, dismiss_after,
        -- With an update token, the app has started it itself, with this content.
        case when token is null then 0 else 1 end,
        state, user_id, sender_id, sender, message, activity.check_token(context || ': start_token', start_token),
        activity.check_token(context || ': token', token), attributes_type, shown, content);
    perform activity.record_change(activity, 'started', state, who);
    perform activity.enqueue_end(activity, due_at, ends_at);
    if start_token is not null and token is null then
        perform activity.enqueue_push(activity, ends_at);
    end if;
    if context <> 'start_demo' then
        perform activity.end_others(start_token, user_id, who);
    end if;
    return activity;
end
$$;
