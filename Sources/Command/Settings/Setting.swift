import Jobs
import Logging
import TraceExport
import Web

/// A setting: its names, its form and its default.
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
    /// Whether a value is what is expected.
    let accepts: @Sendable (String) -> Bool

    init(
        _ key: String, _ variable: String, _ fallback: String?, expected: String, isSecret: Bool = false,
        _ purpose: String, accepts: @escaping @Sendable (String) -> Bool
    ) {
        self.key = key
        self.variable = variable
        self.fallback = fallback
        self.expected = expected
        self.isSecret = isSecret
        self.purpose = purpose
        self.accepts = accepts
    }

    /// Whether a text may be shown to people: neither a secret nor a URL with a user, who may have a password.
    func mayShow(_ text: String) -> Bool { !isSecret && !(text.contains("://") && text.contains("@")) }
}

extension Setting {
    // Checked where it is used: commands that need no database must not fail because of it.
    static let databaseURL = Setting(
        "database.url", "DATABASE_URL", nil, expected: "postgresql://user@host:5432/database", isSecret: true,
        "the queue's database; several URLs with spaces between are cells"
    ) { _ in true }
    // Checked where it is used.
    static let cellURL = Setting(
        "errand.cell.url", "ERRAND_CELL_URL", nil, expected: "postgresql://user@host:5432/database", isSecret: true,
        "the cell of `errand cells front`, `add` and `login`; DATABASE_URL is the front"
    ) { _ in true }
    static let queues = Setting(
        "errand.queues", "ERRAND_QUEUES", "default=10,images=2,uploads=16,pushes=50", expected: "queue=number,…",
        "queues to claim from, and how many jobs of each run at once"
    ) { parseQueues($0) != nil }
    static let pollInterval = Setting(
        "errand.poll.interval", "ERRAND_POLL_INTERVAL", "250ms", expected: "a duration of at least 5ms",
        "probe interval without wake-ups, shared by idle workers; after a lost wake-up up to four times as long"
    ) { Duration(setting: $0, atLeast: .milliseconds(5)) != nil }
    static let listen = Setting(
        "errand.listen", "ERRAND_LISTEN", "true", expected: "true or false", "whether to use wake-ups by NOTIFY"
    ) { Bool($0) != nil }
    static let lease = Setting(
        "errand.lease", "ERRAND_LEASE", "20s", expected: "a duration of 1s to 1h",
        "how long a worker without heartbeats keeps its jobs"
    ) { Duration(setting: $0, atLeast: .seconds(1)).map { $0 <= .seconds(3600) } == true }
    static let heartbeatInterval = Setting(
        "errand.heartbeat.interval", "ERRAND_HEARTBEAT_INTERVAL", "5s",
        expected: "a duration of at most a third of ERRAND_LEASE",
        "time between heartbeats"
    ) { Duration(setting: $0, atLeast: .milliseconds(1)) != nil }
    static let grace = Setting(
        "errand.grace", "ERRAND_GRACE", "25s", expected: "a duration such as 25s",
        "how long running jobs may go on after SIGTERM"
    ) { Duration(setting: $0) != nil }
    static let memory = Setting(
        "errand.memory", "ERRAND_MEMORY", nil, expected: "a size such as 512MB or 2GB",
        "memory that running jobs may declare together; unset: 512MB, and 64MB for each processor"
    ) { parseBytes($0) != nil }
    static let connections = Setting(
        "errand.connections", "ERRAND_CONNECTIONS", "4", expected: "a number of 1 to 1000",
        "database connections for handlers", accepts: isCount)
    static let claimConnections = Setting(
        "errand.claim.connections", "ERRAND_CLAIM_CONNECTIONS", "6", expected: "a number of 1 to 1000",
        "most database connections for claims and completions", accepts: isCount)
    static let functionConnections = Setting(
        "errand.function.connections", "ERRAND_FUNCTION_CONNECTIONS", "2", expected: "a number of 0 to 1000",
        "database connections for SQL handlers; 0 leaves their jobs to other workers"
    ) { $0 == "0" || isCount($0) }
    // Checked where it is used.
    static let storageURL = Setting(
        "storage.url", "STORAGE_URL", ".errand/storage", expected: "the path of a folder, or s3://bucket?region=…",
        "where photos are kept"
    ) { !$0.isEmpty }
    static let storageAccessKey = Setting(
        "storage.access.key", "STORAGE_ACCESS_KEY", nil, expected: "an access key id", isSecret: true,
        "the bucket's access key", accepts: isKey)
    static let storageSecretKey = Setting(
        "storage.secret.key", "STORAGE_SECRET_KEY", nil, expected: "a secret access key", isSecret: true,
        "the bucket's secret key", accepts: isKey)
    static let storageSessionToken = Setting(
        "storage.session.token", "STORAGE_SESSION_TOKEN", nil, expected: "a session token", isSecret: true,
        "session token of temporary keys", accepts: isKey)
    static let push = Setting(
        "errand.push", "ERRAND_PUSH", "apns", expected: "apns or log",
        "where pushes go: to Apple and Google, or only to the log"
    ) { ["apns", "log"].contains($0) }
    // Hidden, because it may be the key itself. Checked where it is used.
    static let apnsKey = Setting(
        "apns.key", "APNS_KEY", nil, expected: "a .p8 file's path or text", isSecret: true,
        "the key that signs pushes to Apple; unset: jobs with pushes wait"
    ) { !$0.isEmpty }
    static let apnsKeyID = Setting(
        "apns.keyId", "APNS_KEY_ID", nil, expected: "ten capital letters and digits", "the id of that key",
        accepts: isAppleName)
    static let apnsTeamID = Setting(
        "apns.teamId", "APNS_TEAM_ID", nil, expected: "ten capital letters and digits", "the team that owns the key",
        accepts: isAppleName)
    static let apnsTopic = Setting(
        "apns.topic", "APNS_TOPIC", nil, expected: "a bundle id such as com.example.app", "the app that pushes are for"
    ) { $0.wholeMatch(of: /[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+/) != nil }
    static let apnsServer = Setting(
        "apns.server", "APNS_SERVER", "production", expected: "production, sandbox or https://host:port",
        "where pushes are sent"
    ) { ["production", "sandbox"].contains($0) || $0.hasPrefix("https://") }
    static let apnsAuthorities = Setting(
        "apns.authorities", "APNS_AUTHORITIES", nil, expected: "a file of PEM certificates",
        "authorities to trust besides the system's, for a private server"
    ) { !$0.isEmpty }
    // Hidden, because it may be the key itself. Checked where it is used.
    static let fcmServiceAccount = Setting(
        "fcm.serviceAccount", "FCM_SERVICE_ACCOUNT", nil, expected: "a service account's JSON file: its path or text",
        isSecret: true,
        "the account that sends pushes to Google; unset: jobs with such pushes wait"
    ) { !$0.isEmpty }
    static let fcmServer = Setting(
        "fcm.server", "FCM_SERVER", "production", expected: "production or https://host:port",
        "where pushes to Google are sent"
    ) { $0 == "production" || $0.hasPrefix("https://") }
    static let fcmAuthorities = Setting(
        "fcm.authorities", "FCM_AUTHORITIES", nil, expected: "a file of PEM certificates",
        "authorities for a private server in place of Google's"
    ) { !$0.isEmpty }
    // Hidden, because it may be the secrets themselves. Checked where it is used.
    static let endpointSecrets = Setting(
        "errand.endpoint.secrets", "ERRAND_ENDPOINT_SECRETS", nil,
        expected: "name=whsec_…,… or a file of such lines", isSecret: true,
        "what signs jobs that are posted to endpoints; unset: they are left to other workers"
    ) { !$0.isEmpty }
    // Hidden, because it may be the keys themselves. Checked where it is used.
    static let payloadKeys = Setting(
        "errand.payload.keys", "ERRAND_PAYLOAD_KEYS", nil, expected: "id=base64,… or a file of such lines",
        isSecret: true, "the keys of encrypted payloads, the one that encrypts first"
    ) { !$0.isEmpty }
    static let endpointAuthorities = Setting(
        "errand.endpoint.authorities", "ERRAND_ENDPOINT_AUTHORITIES", nil, expected: "a file of PEM certificates",
        "authorities to trust besides the system's, for private endpoints"
    ) { !$0.isEmpty }
    static let apiURL = Setting(
        "errand.api.url", "ERRAND_API_URL", nil, expected: "https://host, as endpoints reach it",
        "the HTTP API, for callbacks of endpoints; unset: they get only the path of a callback"
    ) { $0.wholeMatch(of: /https?:\/\/[A-Za-z0-9.:\[\]_-]+(\/[A-Za-z0-9._~\/-]*)?/) != nil }
    static let imageProcesses = Setting(
        "errand.image.processes", "ERRAND_IMAGE_PROCESSES", "2", expected: "a number of 1 to 1000",
        "errand-image processes at once", accepts: isCount)
    static let imageLimit = Setting(
        "errand.image.limit", "ERRAND_IMAGE_LIMIT", "200MB", expected: "a size such as 50MB or 1GB",
        "largest original photo; a larger one fails unread"
    ) { parseBytes($0) != nil }
    static let webAddress = Setting(
        "errand.web.address", "ERRAND_WEB_ADDRESS", "127.0.0.1:8080", expected: "host:port or off",
        "where /healthz, /readyz, /metrics and the page are served; worker and scheduler serve the first three if it is set"
    ) { $0 == "off" || Web.Address($0) != nil }
    static let webPage = Setting(
        "errand.web.page", "ERRAND_WEB_PAGE", "on", expected: "on or off",
        "whether `errand web` and `run` serve the operators' page"
    ) { Bool(word: $0) != nil }
    static let webPasswords = Setting(
        "errand.web.passwords", "ERRAND_WEB_PASSWORDS", nil, expected: "name=hash,… as `errand web password` prints",
        isSecret: true, "who may log in to the page by password"
    ) { parsePasswords($0) != nil }
    static let webTokens = Setting(
        "errand.web.tokens", "ERRAND_WEB_TOKENS", nil, expected: "name=token,… with at least 20 characters a token",
        isSecret: true, "who may log in to the page by token"
    ) { parseTokens($0) != nil }
    static let webProxyHeader = Setting(
        "errand.web.proxy.header", "ERRAND_WEB_PROXY_HEADER", nil, expected: "a header such as X-Forwarded-User",
        "the header in which a proxy names the person"
    ) { $0.wholeMatch(of: /[A-Za-z0-9-]{1,100}/) != nil }
    static let webProxyAddresses = Setting(
        "errand.web.proxy.addresses", "ERRAND_WEB_PROXY_ADDRESSES", nil,
        expected: "addresses such as 127.0.0.1,10.0.0.0/8",
        "addresses of such proxies; the header of others is ignored"
    ) { parseAddressRanges($0) != nil }
    static let apiAddress = Setting(
        "errand.api.address", "ERRAND_API_ADDRESS", nil, expected: "host:port or off",
        "where `errand api` and `run` serve the HTTP API for callers; unset: nowhere"
    ) { $0 == "off" || Web.Address($0) != nil }
    static let apiConnections = Setting(
        "errand.api.connections", "ERRAND_API_CONNECTIONS", "4", expected: "a number of 1 to 1000",
        "database connections of the HTTP API; one more while callers wait for jobs", accepts: isCount)
    static let logLevel = Setting(
        "errand.log.level", "ERRAND_LOG_LEVEL", "info",
        expected: "trace, debug, info, notice, warning, error or critical", "lowest log level that is written"
    ) { Logger.Level(rawValue: $0) != nil }
    static let logFormat = Setting(
        "errand.log.format", "ERRAND_LOG_FORMAT", "text", expected: "text or json", "how log lines are written"
    ) { LineLog.Format(rawValue: $0) != nil }
    static let logErrors = Setting(
        "errand.log.errors", "ERRAND_LOG_ERRORS", "class", expected: "class or text",
        "whether a failed attempt's line has the error's class and id, or also its text, which may quote payloads"
    ) { ["class", "text"].contains($0) }

    static let traceEndpoint = Setting(
        "otel.exporter.otlp.endpoint", "OTEL_EXPORTER_OTLP_ENDPOINT", nil,
        expected: "http://host:4318 or https://host, without /v1/traces",
        "the OpenTelemetry collector for spans; unset: nothing is traced"
    ) { TraceCollector(endpoint: $0) != nil }
    static let traceHeaders = Setting(
        "otel.exporter.otlp.headers", "OTEL_EXPORTER_OTLP_HEADERS", nil, expected: "name=value,… with percent-encoding",
        isSecret: true, "headers for the collector, such as its key"
    ) { TraceCollector.accepts(headers: $0) }
    static let serviceName = Setting(
        "otel.service.name", "OTEL_SERVICE_NAME", "errand", expected: "a name", "service.name of the spans"
    ) { !$0.isEmpty }

    static let all = [
        databaseURL, cellURL, queues, pollInterval, listen, lease, heartbeatInterval, grace, memory, connections,
        claimConnections, functionConnections,
        storageURL, storageAccessKey, storageSecretKey, storageSessionToken, push, apnsKey, apnsKeyID, apnsTeamID,
        apnsTopic, apnsServer, apnsAuthorities, fcmServiceAccount, fcmServer, fcmAuthorities, endpointSecrets,
        endpointAuthorities, payloadKeys, apiURL, imageProcesses, imageLimit, webAddress, webPage, webPasswords,
        webTokens,
        webProxyHeader, webProxyAddresses, apiAddress, apiConnections,
        logLevel, logFormat, logErrors, traceEndpoint, traceHeaders, serviceName,
    ]

    /// No spaces or line breaks, such as the one at the end of a file: the key is sent in a header.
    @Sendable private static func isKey(_ text: String) -> Bool {
        !text.isEmpty && text.utf8.allSatisfy { (0x21...0x7E).contains($0) }
    }

    @Sendable private static func isAppleName(_ text: String) -> Bool {
        text.wholeMatch(of: /[A-Z0-9]{10}/) != nil
    }

    @Sendable private static func isCount(_ text: String) -> Bool { Int(text).map { (1...1000).contains($0) } ?? false }
}
