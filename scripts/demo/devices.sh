# devices.sh: devices register and are notified, and one that was retired long ago is deleted.
# place: 2

show_devices() {
    title "Notification: Ben's two phones register, and get a notification"
    push_note
    show "select devices.register('demo-ben', 'apns', repeat('be', 32), time_zone => 'Europe/Paris') as iphone,
    devices.register('demo-ben', 'fcm', 'demo-of-ben:APA91b', time_zone => 'Europe/Paris') as android;
select notify.send('demo-ben', 'Hello, Ben', 'From a demonstration', data => '{\"run\": \"$run\"}') as devices;"
    until_sent 'Hello, Ben'

    title "DevicePrune: a phone whose app was removed 31 days ago, as Google has said, is deleted"
    local device
    device=$(sql "select devices.register('demo-ben', 'fcm', 'demo-of-ben:lost');")
    sql "
        select devices.retire_v1('$device', 'demo-of-ben:lost', clock_timestamp(), 'UNREGISTERED');
        update devices.device set retired_at = now() - interval '31 days' where id = '$device';" > /dev/null
    show "select platform, token_prefix, retired_at::date, retired_reason
from devices.device_status where user_id = 'demo-ben' order by platform, registered_at;
select errand.run_schedule('device_prune', 'a demonstration') as job_id;"
    until_true "not exists (select from devices.device_status where id = '$device')" "the retired device"
    show "select platform, token_prefix from devices.device_status where user_id = 'demo-ben' order by platform;"
}

# push_note: says where pushes go.
push_note() {
    if [ "${ERRAND_PUSH:-}" = log ]; then
        echo "    ERRAND_PUSH=log: each push goes to the log of the service, and no phone gets it."
    else
        echo "    The tokens are made up: Apple and Google refuse them, and their devices are retired."
    fi
}
