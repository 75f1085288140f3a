# quotes.sh: the quote of each day, a card with it, and its push at a subscriber's local time.
# place: 4

# Carl's local time is now. His push is enqueued within 15 s, and shown last.
begin_quotes() {
    subscription=$(sql "select format('select quotes.subscribe(%L, %L, %L);', 'demo-carl',
        to_char(clock_timestamp() at time zone 'America/Lima' + interval '2 s', 'HH24:MI:SS'), 'America/Lima');")
    subscribed=$(sql "$subscription")
}

show_quotes() {
    title "QuoteRotation: a quote for each calendar day, written ahead"
    until_true "exists (select from quotes.quote_days where day = (now() at time zone 'UTC')::date + 7)" \
        "the days ahead"
    type_in "select day, author, text from quotes.quote_days where day >= current_date order by day limit 3;"
    sql "
        select format('%s   %s: %s', day, author, text)
        from quotes.quote_days
        where day >= (now() at time zone 'UTC')::date
        order by day
        limit 3;" | sed -E 's/^(.{110}).+/\1…/' | indent
    sql "select format('and the days until %s', max(day)) from quotes.quote_days;" | indent

    title "QuoteCard: the quote of the day as an image to share"
    local quote card
    quote=$(sql "select quote_id from quotes.of_the_day();")
    card="quotes.card($quote, template => 'sky', appearance => 'dark', format => 'square')"
    show "select state, key from $card;"
    until_true "(select state = 'stored' from $card)" "the card"
    sql "select format('%s: %s x %s pixels', state, width, height) from $card;" | indent
    say_stored "$last"

    title "DailyQuote: the push to Carl, at a time on his own clock that is now"
    push_note
    type_in "$subscription"
    until_true "(select last_day is not null from quotes.subscription_of('demo-carl'))" "the daily push"
    sql "
        select format('due at %s on his clock; the next one on %s', local_time,
            to_char(next_at at time zone time_zone, 'YYYY-MM-DD \"at\" HH24:MI:SS'))
        from quotes.subscription_of('demo-carl');
        select format('enqueued %s s after it was due: %s',
            round(extract(epoch from created_at - '$subscribed'), 1), body)
        from notify.message_status as message
        where profile = 'daily_quote' and created_at > '$began';" | indent
    until_sent daily_quote
}
