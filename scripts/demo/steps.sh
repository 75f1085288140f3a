# steps.sh: how each app of the demonstration prints SQL, runs it, and waits for its outcome.

run=$(date -u +%Y%m%d-%H%M%S)        # part of each key of an object: a key is never reused
began=$(date -u +%Y-%m-%dT%H:%M:%SZ)
timeout=60                           # seconds to wait for each step
photos_from=/usr/share/backgrounds/mate

# sql TEXT [NAME=VALUE...]: runs TEXT with variables of psql; a value that begins with ` is a command's output.
sql() {
    local text=$1 pair
    shift
    {
        for pair in "$@"; do printf '\\set %s %s\n' "${pair%%=*}" "${pair#*=}"; done
        printf '%s\n' "$text"
    } | psql --no-psqlrc --quiet --tuples-only --no-align --set ON_ERROR_STOP=1 "$DATABASE_URL"
}

title() { printf '\n%s\n' "$1"; }
indent() { sed 's/^/    /'; }
type_in() { printf '\n'; indent <<< "$1"; printf '\n'; }

# show SQL: prints SQL as a reader would type it, runs it, and prints its rows. `last` is then the last value.
show() {
    local rows
    type_in "$1"
    rows=$(psql --no-psqlrc --quiet --set ON_ERROR_STOP=1 --pset border=0 --pset footer=off --pset null=- \
        "$DATABASE_URL" <<< "$1" | sed 's/ *$//; /^$/d')
    indent <<< "$rows"
    last=${rows##*[[:space:]]}
}

# hand_over PHOTO KEY OWNER: passes the bytes of a photo in SQL; prints the id of its upload.
hand_over() {
    sql "select media.submit_upload(:'key', decode(:'bytes', 'base64'), owner => :'owner');" \
        "key='$2'" "owner='$3'" "bytes=\`base64 --wrap 0 '$photos_from/$1'\`"
}

# until_true CONDITION WHAT: waits until the condition is true, or fails after the timeout.
until_true() {
    local end=$((SECONDS + timeout))
    while [ "$SECONDS" -lt "$end" ]; do
        [ "$(sql "select $1;")" != t ] || return 0
        sleep 0.1
    done
    echo "Not done after $timeout s: $2" >&2
    return 1
}

# The folder of the store; empty for a bucket.
store=${STORAGE_URL:-$PWD/.errand/storage}
case $store in
    file://*) folder=${store#file://} ;;
    *://*) folder= ;;
    *) folder=$store ;;
esac

# locate KEY: prints where to look for an object.
locate() { echo "${folder:-${store%%\?*}}/$1"; }

# say_stored KEY: prints the size of an object, from the store's folder or the database.
say_stored() {
    local size
    if [ -n "$folder" ]; then
        size=$(stat -c %s "$folder/$1")
    else
        size=$(sql "select size from media.upload_status where key = :'key' and state = 'delivered';" "key='$1'")
    fi
    [ -n "$size" ] || { echo "$1 is not in the store" >&2; return 1; }
    printf '    in the store, %s bytes: %s\n' "$size" "$(locate "$1")"
}

# until_gone KEY: waits until the store has confirmed that an object is removed, and looks into the folder itself.
until_gone() {
    until_true "not exists (select from media.removal_status where key = '$1' and state <> 'confirming')" \
        "the removal of $1"
    [ -z "$folder" ] || [ ! -e "$folder/$1" ] \
        || { echo "Still in the store: $(locate "$1")" >&2; return 1; }
    echo "    gone from the store: $1"
}

# until_sent TEXT: waits until the notification with this title or profile was handed to the services of its devices,
# and prints what became of it. With ERRAND_PUSH=log it was handed to the log.
until_sent() {
    local sent="notify.delivery_status as held join notify.message_status as message on message.id = held.message_id
        where '$1' in (message.title, message.profile) and message.created_at > '$began'"
    until_true "count(*) > 0 and bool_and(held.state <> 'waiting') from $sent" "the notification $1"
    sql "
        select format('pushed to %s, %s: %s by %s%s, %s ms after it was enqueued', held.user_id, held.platform,
            held.state, coalesce(held.via, 'nobody'), ' (' || held.reason || ')',
            round(1000 * extract(epoch from held.tried_at - held.created_at)))
        from $sent
        order by held.user_id, held.platform;" | indent
}

# show_kinds: prints how many jobs of each kind have succeeded since the demonstration began.
show_kinds() {
    title "What has run since this demonstration began, kind by kind"
    show "select kind, count(*) as jobs, max(attempt) as attempts,
    round(1000 * percentile_cont(0.5) within group (order by extract(epoch from finished_at - started_at))) as median_ms
from errand.jobs
where state = 'succeeded' and finished_at > '$began'
group by kind
order by kind;"
}
