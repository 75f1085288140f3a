-- cases: what tests over all apps do with this one. AppCase says what each topic is for.

-- case: hijack
select rooms.emit('r', 'x');

-- case: attack
select rooms.emit('r', 'x', namespace => '/' || $1);
