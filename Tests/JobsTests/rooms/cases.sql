-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hijack
select rooms.emit('r', 'x');

-- case: attack
select rooms.emit('r', 'x', namespace => '/' || $1);

-- case: notifies
select rooms.emit('room', 'event');

-- case: settings
select rooms.emit('pair', 'greeting', jsonb_build_object('n', 1.5, 's', 'x', 'b', true));
