-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hidden
people.erasure_status: reason;

-- case: person
select people.rename('user-4711', 'Zoe'), people.rename('ben', 'Ben');

-- case: crowd
select people.rename(id, 'N' || number) from public.crowd;

-- case: step
select people.rename(:'user', 'N' || :number);

-- case: step
select people.erase(:'user');

-- case: truth partner_renamed
exists (
    select from pairing.pair
    where id::text = data ->> 'pair_id' and ended_at is null and said.user_id in (inviter, invitee));

-- case: disturbance rename
select people.rename(:'anna', 'Anne');

-- case: disturbance erase sender, removes data
select people.erase(:'anna');

-- case: after erase sender
select 'left of the person: ' || people.export(:'anna')::text where people.export(:'anna') <> '{}';

-- case: disturbance erase receiver, removes data
select people.erase(:'ben');

-- case: after erase receiver
select 'left of the person: ' || people.export(:'ben')::text where people.export(:'ben') <> '{}';

-- case: upkeep
select people.erase('user-17');
