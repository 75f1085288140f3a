-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hijack
select * from pairing.create_invite('anna');
select * from pairing.redeem_invite((select code from pairing.invites_of('anna')), 'ben');
select * from pairing.disconnect('anna');

-- case: attack
select pairing.redeem_invite('ABCDEF', 'anna', $1);

-- case: hidden
pairing.invite_status: code inviter redeemed_by;
pairing.pair_status: inviter invitee ended_by;

-- case: first
invite_expiry;

-- case: person
select pairing.redeem_invite(code, 'ben') from pairing.create_invite('user-4711');
select pairing.redeem_invite('AAAAAA', 'user-4711');

-- case: start
select pairing.redeem_invite(code, 'ben') from pairing.create_invite('anna');

-- case: step
select pairing.disconnect(:'user');

-- case: step
select pairing.redeem_invite(code, :'other') from pairing.create_invite(:'user');

-- Anna and Ben are a pair.
-- case: enter
select pairing.redeem_invite(code, :'ben') from pairing.create_invite(:'anna');

-- case: disturbance disconnect, removes data
select pairing.disconnect(:'anna');

-- case: locale
pairing.create_invite('a') is not null;
