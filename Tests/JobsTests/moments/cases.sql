-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hidden
moments.moment_status: sender;

-- case: person
select moments.send('user-4711', media.submit('moments/1.jpg', 'user-4711'));
select media.compressed_v1(id, 'photos/' || id || '.jpg', '{}', '\x0405') from moments.moment;
select media.delivered_v1(upload.id, key, revision) from moments.moment join media.upload on photo = moment.id;

-- case: crowd
select notify.send(next, profile => 'new_moment', words => jsonb_build_object('name', 'N' || number))
from public.crowd
where next is not null;

-- case: step
select media.submit_upload('m/' || :'key', :image, 'image/png', :'user'),
    moments.send(:'user', media.submit('m/' || :'key', :'user'));

-- case: step
select media.submit_upload('m/' || :'key', :image, 'image/png', :'user'),
    moments.send(:'user', media.submit('m/' || :'key', :'user'));

-- case: step
select moments.withdraw(:'user', id) from moments.moment order by sent_at desc limit 1;

-- case: truth new_moment
exists (
    select
    from moments.moment
    join pairing.pair on pair.id = pair_id
    where moment.id::text = data ->> 'moment_id' and current_at is not null and pair.ended_at is null
        and said.user_id in (inviter, invitee) and said.user_id <> sender);

-- case: truth moment_withdrawn
not exists (select from moments.moment where id::text = data ->> 'moment_id');

-- case: truth paired
exists (
    select from pairing.pair
    where id::text = data ->> 'pair_id' and ended_at is null and said.user_id in (inviter, invitee));

-- case: truth pair_ended
not exists (select from pairing.pair where id::text = data ->> 'pair_id' and ended_at is null);

-- case: own
select media.submit_upload('moments/' || :'anna' || '.png', :image, 'image/png', :'anna');
select moments.send(:'anna', media.submit('moments/' || :'anna' || '.png', :'anna'));

-- case: left
select 'moment ' || state || ': ' || moment_id from moments.moment_status where state <> 'current';
select 'moment of no pair: ' || moment.id
from moments.moment
left join pairing.pair on pair.id = pair_id
where pair.id is null or pair.ended_at is not null;
