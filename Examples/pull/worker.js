// A worker in Node.js for the kind send_mail: docs/pull.md explains it.
//
//     DATABASE_URL=postgresql://mailer@localhost/shop node worker.js
//
// QUEUE is its queue (mail). LEASE is how long it may be silent before its jobs run elsewhere (30 s).
'use strict'

const { setTimeout: sleep } = require('timers/promises')
const { Client } = require('pg')

const connectionString = process.env.DATABASE_URL
const queue = process.env.QUEUE || 'mail'
const lease = process.env.LEASE || '30 s'
const slots = 10

// Another attempt would fail, too.
class NoSuchAddress extends Error {}

// Stands for the call of a mail server. Returns the job's output, or throws. lost is aborted once it must stop.
async function sendMail(job, lost) {
    const { to, seconds = 0, busy = 0 } = job.payload
    if (!to.includes('@')) throw new NoSuchAddress(to)
    await sleep(seconds * 1000, null, { signal: lost })
    if (job.attempt <= busy) throw new Error('the mail server is busy')
    return { sent_to: to }
}

// Tells outcomes. Returns their tokens, without those to tell again.
async function tell(client, ended) {
    const done = [...ended].filter(([, outcome]) => !outcome.error)
    const failed = [...ended].filter(([, outcome]) => outcome.error)
    const { rows } = await client.query(
        `select token, result from errand.done($1, $2)
        union all
        select token, result from errand.fail($3, $4, permanent => $5)`,
        [
            done.map(([token]) => token), done.map(([, { output }]) => JSON.stringify(output)),
            failed.map(([token]) => token), failed.map(([, { error }]) => String(error)),
            failed.map(([, { error }]) => error instanceof NoSuchAddress),
        ])
    return rows.filter(row => row.result !== 'again').map(row => row.token)
}

async function main() {
    let stopping = false
    let wake = () => {}
    for (const signal of ['SIGTERM', 'SIGINT']) process.on(signal, () => { stopping = true; wake() })
    // If its session is lost, new jobs are found up to a second later, by the next pull.
    const listener = new Client({ connectionString })
    listener.on('error', error => console.error(error.message))
    listener.on('notification', () => wake())
    await listener.connect()
    await listener.query('listen errand_wake')
    // Each statement commits at once.
    const client = new Client({ connectionString })
    await client.connect()
    await client.query(
        "select errand.put_kind('send_mail', queue => $1, retry_delays => '{2 s, 30 s, 10 min}')", [queue])
    let worker = null
    const running = new Map()
    const ended = new Map()
    while (running.size > 0 || !stopping) {
        // What happens from here on ends the pause below.
        const woken = new Promise(resolve => { wake = resolve })
        for (const token of ended.size > 0 ? await tell(client, ended) : []) {
            running.delete(token)
            ended.delete(token)
        }
        const free = stopping ? 0 : slots - running.size
        const tokens = [...running.keys()]
        const { rows } = free > 0
            ? await client.query(
                `select * from errand.pull(
                    array[$1], '{send_mail}', $2, $3, worker => $4, running => $5, listens => true)`,
                [queue, free, lease, worker, tokens])
            : await client.query('select null as token, lost from errand.renew($1, $2)', [worker, tokens])
        worker = rows[0].worker_id || worker
        for (const token of rows[0].lost) running.get(token).abort()
        const jobs = rows.filter(row => row.token)
        for (const job of jobs) {
            const lost = new AbortController()
            running.set(job.token, lost)
            sendMail(job, lost.signal)
                .then(output => ({ output }), error => ({ error }))
                .then(outcome => { ended.set(job.token, outcome); wake() })
        }
        // Without a pause after a pull that found jobs: there may be more.
        if (jobs.length === 0) await Promise.race([woken, sleep(1000, null, { ref: false })])
    }
    await client.query('select errand.leave($1)', [worker])
    await client.end()
    await listener.end()
}

main().catch(error => {
    console.error(error)
    process.exit(1)
})
