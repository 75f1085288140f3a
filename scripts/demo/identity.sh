# identity.sh: virtual numbers, and the pool that is filled ahead.
# place: 8

show_identity() {
    title "NumberPool: free numbers are drawn ahead, and two users get one each"
    show "select errand.run_schedule('number_pool', 'a demonstration') as job_id;"
    until_true "(select free = pool_target from identity.pool_status)" "the pool"
    show "select identity.assign('demo-anna') as anna, identity.assign('demo-ben') as ben,
    identity.assign('demo-anna') as anna_again;"
    show "select identity.user_of('$last') as user_id;
select free, pool_target, assigned, erased from identity.pool_status;"
}
