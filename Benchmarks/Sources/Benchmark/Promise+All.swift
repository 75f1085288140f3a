extension Promise {
    /// What Errand promises. Which contender and scenario each name means is in README.md.
    public static let all: [Promise] = [
        Promise(
            "drain, one worker, against C on the bare tables", errand("drain-1", .rate),
            .atLeast(0.8, times: key("drain-1", "c", .rate))),
        Promise(
            "drain, one worker, against PgQueuer", errand("drain-1", .rate),
            .atLeast(5, times: key("drain-1", "pgqueuer", .rate))),
        Promise(
            "drain, two workers against one", errand("drain-2", .rate), .atLeast(1, times: errand("drain-1", .rate))),
        Promise(
            "the same, server CPU a job", errand("drain-2", .serverCPU),
            .atMost(1.15, times: errand("drain-1", .serverCPU))),
        Promise(
            "payloads of 10 KB against PgQueuer", errand("drain-10k", .rate),
            .atLeast(1.1, times: key("drain-10k", "pgqueuer", .rate))),
        Promise("the same, WAL a drained job", errand("drain-10k", .log), .noMore(1_500)),
        Promise("100 queues, connections", errand("queues/100", .connections), .noMore(12)),
        Promise("100 queues, worker's memory", errand("queues/100", .peakMemory), .noMore(80)),
        Promise(
            "100 queues against one, rate", errand("queues/100", .rate),
            .atLeast(0.8, times: errand("queues/1", .rate))),
        Promise(
            "100 queues against one, start p50", errand("queues/100", .p50), .atMost(2, times: errand("queues/1", .p50))
        ),
        Promise(
            "two workers against one, 200 us a job", errand("drain-cpu-2", .rate),
            .atLeast(1.5, times: errand("drain-cpu-1", .rate))),
        Promise(
            "rate while a snapshot is held", errand("pinned/held", .rate),
            .atLeast(0.8, times: errand("pinned/before", .rate))),
        Promise(
            "rate while a snapshot is held, 10,000 jobs a second", errand("pinned-10000/held", .rate),
            .atLeast(0.8, times: errand("pinned-10000/before", .rate))),
        Promise(
            "claim while a snapshot is held, 10,000 jobs a second", errand("pinned-10000/held", .p99), .noMore(10)),
        Promise(
            "16 producers, a worker asleep, against none", errand("enqueue-16-idle", .rate),
            .atLeast(0.95, times: errand("enqueue-16", .rate))),
        Promise(
            "bulk enqueue against bare COPY", errand("enqueue-bulk", .rate),
            .atLeast(0.5, times: key("enqueue-bulk", "bare", .rate))),
        Promise(
            "single enqueue against bare INSERT", errand("enqueue-1", .rate),
            .atLeast(0.6, times: key("enqueue-1", "bare", .rate))),
        Promise("Swift's own cost", errand("drain-1", .workerCPU), .noMore(8)),
        Promise(
            "enqueue to start at 20/s against PgQueuer", errand("latency-20", .p50),
            .atMost(0.7, times: key("latency-20", "pgqueuer", .p50))),
        Promise(
            "the same, p99", errand("latency-20", .p99), .below(key("latency-20", "pgqueuer", .p99))),
        Promise(
            "the same, CPU of the worker", errand("latency-20", .workerShare),
            .atMost(1, times: key("latency-20", "pgqueuer", .workerShare))),
        Promise(
            "the same, CPU of the server", errand("latency-20", .serverShare),
            .atMost(1, times: key("latency-20", "pgqueuer", .serverShare))),
        Promise(
            "claim of 20 with 1 M waiting against 1 k", errand("backlog/1000000", .p50),
            .atMost(1.2, times: errand("backlog/1000", .p50))),
        Promise(
            "claim of 20 with 10 M waiting against 1 k", errand("backlog/10000000", .p50),
            .atMost(1.2, times: errand("backlog/1000", .p50))),
        Promise("1,000 jobs a second, longest wait", errand("sustained", .longest), .noMore(100)),
        Promise("WAL a job", errand("footprint", .log), .noMore(1_100)),
        Promise("worker's memory at the end", errand("memory/last", .peakMemory), .noMore(60)),
        Promise(
            "worker's memory stays flat", errand("memory/last", .memory),
            .atMost(1.1, times: errand("memory/first", .memory))),
        Promise("idle worker, queries", errand("idle", .queries), .noMore(2)),
        Promise("idle worker, CPU", errand("idle", .workerShare), .noMore(0.5)),
        Promise("tick lateness, 10,000 schedules", errand("scheduler", .p99), .noMore(50)),
        Promise(
            "a photo against one vipsthumbnail call", errand("images/one", .rate),
            .atLeast(1 / 1.5, times: key("images/one", "vipsthumbnail", .rate))),
        Promise(
            "photos two at a time against one", errand("images/two", .rate),
            .atLeast(1.8, times: errand("images/one", .rate))),
        Promise(
            "no-op jobs beside photos against without", errand("latency-images/beside", .p99),
            .atMost(3, times: errand("latency-images/alone", .p99))),
    ]

    private static func errand(_ scenario: String, _ metric: Metric) -> Results.Key { key(scenario, "errand", metric) }

    private static func key(_ scenario: String, _ contender: String, _ metric: Metric) -> Results.Key {
        Results.Key(scenario, contender, metric)
    }
}
