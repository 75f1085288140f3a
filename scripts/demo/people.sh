# people.sh: a person's data, exported and erased.
# place: 9

show_people() {
    title "Erasure: all that the apps have about Anna, and then its receipt"
    local key
    key=$(sql "select photo_key from moments.current('demo-ben');")
    [ -z "$key" ] || say_stored "$key"
    show "select app, octet_length(data::text) as bytes
from jsonb_each(people.export('demo-anna')) as export (app, data);"
    show "select app, rows from people.erase('demo-anna', reason => 'request $run') where rows > 0;"
    show "select people.export('demo-anna');
select erased_at, rows_in_all, reason from people.erasure_status order by erased_at desc limit 1;
select count(*) from moments.current('demo-ben');"
    [ -z "$key" ] || until_gone "$key"
}
