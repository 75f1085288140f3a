# moments.sh: a pair, a photo from one to the other, the events in the receiver's room, and a photo that replaces it.
# place: 3

show_moments() {
    local first
    title "Pairs: Anna and Ben have names, and become a pair"
    show "select people.rename('demo-anna', 'Anna') as anna, people.rename('demo-ben', 'Ben') as ben;
select code from pairing.create_invite('demo-anna');"
    show "select status, partner from pairing.redeem_invite('$last', 'demo-ben');"
    until_sent paired

    title "Moments: her photo becomes the pair's moment as soon as it is compressed and stored"
    listen
    send_moment nature/TwoWings.jpg
    first=$moment
    until_sent new_moment

    title "Rooms: what Ben's Socket.IO server has received meanwhile, by LISTEN in a psql of its own"
    type_in "listen \"$channel\";"
    received

    title "Moments: the next photo replaces the first one"
    send_moment nature/Dune.jpg
    until_gone "$first"
}

# send_moment PHOTO: Anna sends a photo, and Ben's phone asks for it. `moment` is then the key of the stored photo.
send_moment() {
    local key=moments/$run/${1##*/}
    type_in "select media.submit_upload('$key', '\\xffd8…', owner => 'demo-anna');" | sed '$d'
    hand_over "$1" "$key" demo-anna > /dev/null
    show "select status, moment_id
from moments.send('demo-anna', media.submit('$key', owner => 'demo-anna'));"
    until_true "exists (select from moments.moment_status where moment_id = '$last' and state = 'current')" "the moment"
    show "select sender, photo_key, bytes, current_at - sent_at as took from moments.current('demo-ben');"
    moment=$(sql "select photo_key from moments.current('demo-ben');")
    say_stored "$moment"
}

# listen: a psql that stays connected, as a Socket.IO server does.
listen() {
    channel=$(sql "select channel_prefix || '#/' from rooms.setting_status;")
    coproc ROOM { psql --no-psqlrc --quiet --tuples-only --no-align "$DATABASE_URL" 2>&1; }
    echo "listen \"$channel\"; select 'listening';" >&"${ROOM[1]}"
    read -r <&"${ROOM[0]}"
}

# received: prints the events that this psql has received. psql prints them after the next statement.
received() {
    local line
    echo "select 'received'; select 'end';" >&"${ROOM[1]}"
    while read -r -t "$timeout" line <&"${ROOM[0]}" && [ "$line" != end ]; do
        [[ $line == Asynchronous* ]] || continue
        line=${line#*payload \"}
        sql "select format(E'to the room %s, the event %s\n    %s', event #>> '{data,opts,rooms,0}',
                event #>> '{data,packet,data,0}', event #>> '{data,packet,data,1}')
            from (select :'line'::jsonb) as received (event);" "line='${line%\" received from*}'" | indent
    done
}
