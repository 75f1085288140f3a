-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hijack
select * from quotes.of_the_day();
select quotes.put('a', 'b', 'C');
select quotes.retire(1, 'x');
select * from quotes.quote_status;
select quotes.subscribe('anna', '08:00', 'Europe/Paris');
select * from quotes.subscription_of('anna');
select quotes.unsubscribe('anna');
select * from quotes.subscription_status;

-- case: first
daily_quote;

-- case: person
select quotes.subscribe('user-4711', '08:30', 'UTC');

-- case: crowd
select quotes.subscribe(id, '08:30', 'UTC') from public.crowd;

-- case: step
select quotes.subscribe(id, '08:30', 'UTC') from unnest('{anna,ben,carl}'::text[]) as id;

-- case: step
select quotes.unsubscribe(user_id) from quotes.subscription where ended_at is null;

-- case: step
select quotes.send_due_v1(at_time => due + interval '1 s')
from (select max(next_at) as due from quotes.subscription) as last
where due is not null;

-- case: step
select quotes.card(17);

-- case: truth daily_quote
exists (
    select from quotes.subscription
    where subscription.user_id = said.user_id and ended_at is null);

-- case: enter
select quotes.subscribe(id, '08:30', 'UTC') from unnest('{:anna,:ben}'::text[]) as id;

-- case: disturbance unsubscribe
select quotes.unsubscribe(:'ben');

-- case: left
select 'card ' || state || ': ' || key from quotes.card_status where state <> 'stored';
select 'no quote: ' || user_id from quotes.subscription where next_at <= now() - interval '1 second';
