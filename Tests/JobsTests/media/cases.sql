-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hijack
select media.submit('uploads/a.jpg');
select media.retry_removals('x');
select * from media.removal_status;
select * from media.receipt_status;

-- case: attack
select media.submit('uploads/a.jpg', $1);

-- case: hidden
media.photo_status: owner source_key error;
media.removal_status: key error;
media.upload_status: owner key error attempts;

-- case: first
object_removal;
removal_cleanup;

-- case: alike
select media.submit_upload('uploads/images.jpg', '\x00', owner => 'anna'), media.submit('uploads/12.jpg', 'anna');

-- case: step
select media.submit_upload('m/' || :'key', :image, 'image/png', :'user'),
    media.submit('m/' || :'key', :'user', purpose => 'avatar');

-- case: step
select media.remove(id) from media.photo order by md5(id::text) limit 1;

-- case: objects
select key from media.upload where removed_at is null;
select result_key from media.photo where result_key is not null;
select source_key from media.photo where original_removed_at is null;
select key from media.variant;

-- case: promised
select key from media.upload where removed_at is null and delivered_at is not null;
select variant.key from media.variant join media.upload using (photo) where delivered_at is not null;

-- case: pending
select 1 from media.removal;

-- case: fault
select 1 from media.removal where error is not null;

-- case: removal
select media.enqueue_removals_v1();

-- case: pass
update media.removal
set try_at = try_at - interval '90 s', final_at = final_at - interval '90 s',
    tried_at = tried_at - interval '90 s'
where not exists (select from errand.job where kind = 'object_removal' and state <> 'scheduled');
update media.upload set confirm_at = confirm_at - interval '90 s' where confirm_at > now();
select media.enqueue_removals_v1();

-- case: left
select 'not removed: ' || key || coalesce(' ' || error, '') from media.removal;
select 'receipt not finished: ' || reason from media.receipt where finished_at is null;
select 'photo ' || state || ': ' || source_key || coalesce(' ' || error, '')
from media.photo_status
where state <> 'delivered';
select 'not stored: ' || key from media.upload where delivered_at is null or bytes is not null;
select 'original kept: ' || source_key from media.photo where original_removed_at is null;

-- case: wrong
select 'not removed: ' || key || coalesce(' ' || error, '') from media.removal;
select 'avatars of ' || owner || ': ' || count(*)
from media.photo_status
where purpose = 'avatar' and state = 'delivered'
group by owner
having count(*) > 1;
