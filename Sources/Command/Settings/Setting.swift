/// One setting: what it is called, what it may be, and what it is where nobody says.
struct Setting: Sendable {
    /// Its key in the configuration file, part by part: `errand.queues` is `{"errand": {"queues": …}}`.
    let key: String
    /// Its environment variable.
    let variable: String
    let fallback: String?
    /// What a value looks like, for errors and for `errand config`.
    let expected: String
    let isSecret: Bool
    /// What it does, in one line.
    let purpose: String

    init(
        _ key: String, _ variable: String, _ fallback: String?, expected: String, isSecret: Bool = false,
        _ purpose: String
    ) {
        self.key = key
        self.variable = variable
        self.fallback = fallback
        self.expected = expected
        self.isSecret = isSecret
        self.purpose = purpose
    }
}

extension Setting {
    static let databaseURL = Setting(
        "database.url", "DATABASE_URL", nil, expected: "postgresql://user@host:5432/database", isSecret: true,
        "the database with the queue")
    static let queues = Setting(
        "errand.queues", "ERRAND_QUEUES", "default=10,images=2", expected: "queue=number,…",
        "queues to claim from, and how many jobs of each run here at once")
    static let pollInterval = Setting(
        "errand.poll.interval", "ERRAND_POLL_INTERVAL", "250ms", expected: "a duration such as 250ms",
        "longest wait of a due job whose wake-up was lost")
    static let listen = Setting(
        "errand.listen", "ERRAND_LISTEN", "true", expected: "true or false", "whether to use wake-ups by NOTIFY")
    static let lease = Setting(
        "errand.lease", "ERRAND_LEASE", "20s", expected: "a duration of at least 1s",
        "how long a silent worker keeps its jobs")
    static let beat = Setting(
        "errand.beat", "ERRAND_BEAT", "5s", expected: "a duration of at most a third of the lease",
        "time between heartbeats")
    static let grace = Setting(
        "errand.grace", "ERRAND_GRACE", "25s", expected: "a duration such as 25s",
        "how long running jobs may go on after SIGTERM")
    static let connections = Setting(
        "errand.connections", "ERRAND_CONNECTIONS", "4", expected: "a number of at least 1",
        "database connections for handlers")
    static let storage = Setting(
        "errand.storage", "ERRAND_STORAGE", ".errand/storage", expected: "the path of a folder", "where photos are kept"
    )
    static let imageProcesses = Setting(
        "errand.image.processes", "ERRAND_IMAGE_PROCESSES", "2", expected: "a number of at least 1",
        "errand-image processes at once")
    static let logLevel = Setting(
        "errand.log.level", "ERRAND_LOG_LEVEL", "info",
        expected: "trace, debug, info, notice, warning, error or critical", "least severe log lines that are written")
    static let logFormat = Setting(
        "errand.log.format", "ERRAND_LOG_FORMAT", "text", expected: "text or json", "how log lines are written")

    static let all = [
        databaseURL, queues, pollInterval, listen, lease, beat, grace, connections, storage, imageProcesses, logLevel,
        logFormat,
    ]
}
