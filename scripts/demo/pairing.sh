# pairing.sh: an invite whose time is over.
# place: 6

begin_pairing() {
    invite=$(sql "select code from pairing.create_invite('demo');")
    sql "update pairing.invite set expires_at = clock_timestamp() + interval '5 s' where code = '$invite';"
}

show_pairing() {
    title "InviteExpiry: a code is dead to the second, and marked within 15 s"
    type_in "select code from pairing.create_invite('demo');
select status from pairing.redeem_invite('$invite', 'demo-carl');"
    until_true "exists (select from pairing.invite where code = '$invite' and ended_at is not null)" "the invite"
    sql "
        select format('%s was valid until %s; redeemed now: %s; marked at %s', code, to_char(expires_at, 'HH24:MI:SS'),
            (select status from pairing.redeem_invite(code, 'demo-carl')), to_char(ended_at, 'HH24:MI:SS'))
        from pairing.invite_status where code = '$invite';" | indent
}
