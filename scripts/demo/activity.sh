# activity.sh: a Live Activity is started and updated, and ended when its time has come.
# place: 5

begin_activity() {
    activity=$(sql "select activity_id from activity.start_demo(ends_in => '10 s');")
    sql "select ok from activity.update('$activity', 'The message has changed.');" > /dev/null
}

show_activity() {
    title "ActivityEnd: the push that ends a Live Activity, sent when it is due"
    push_note
    type_in "select activity_id from activity.start_demo(ends_in => '10 s');
select ok from activity.update('$activity', 'The message has changed.');"
    until_true "exists (select from activity.activity_status where id = '$activity' and ended_at is not null)" \
        "the activity"
    sql "
        select format('%s   %s (%s)', to_char(at, 'HH24:MI:SS.MS'), what, reason)
        from activity.change_record where activity_id = '$activity' order by id;" | sed 's/ ()$//' | indent
    sql "
        select format('its end was due at %s, and sent %s ms later by %s', to_char(due_at, 'HH24:MI:SS.MS'),
            round(1000 * extract(epoch from responded_at - due_at)), via)
        from activity.activity_status as held join activity.push_record on activity_id = held.id and event = 'end'
        where held.id = '$activity';" | indent
}
