import CLibpq

/// How to reach a database.
public struct PostgresConfiguration: Sendable {
    /// Keyword and value, as libpq has them; the password among them.
    private let settings: [String: String]
    let hosts: Hosts
    /// What `pg_stat_activity` shows for connections of this process. Default `errand`.
    public var applicationName = "errand"
    /// For each host, at least 2 s. Default 3 s.
    public var connectTimeout: Duration = .seconds(3)
    /// The time after which the server cancels a statement; nil is never. Default 5 s. The client waits 5 s longer.
    public var statementTimeout: Duration? = .seconds(5)

    /// The time after which the server stops waiting for a lock; nil is the statement timeout. Default nil.
    package var lockTimeout: Duration?

    /// Whether unqualified names are those of `pg_catalog`, as in statements of Errand's own, so that no function or
    /// operator of another schema is called. By default they are found as the database or the role sets it.
    private var isOwn = false

    /// For statements of Errand's own, which name their schemas.
    package var forOwnStatements: PostgresConfiguration {
        var copy = self
        copy.isOwn = true
        return copy
    }

    /// Takes a `postgresql://user:password@host:port/database?option=value` URL, with several hosts or with the folder
    /// of a Unix socket (`postgresql:///database?host=/run/postgresql`) too, or libpq's `keyword=value` form.
    ///
    /// - Throws: ``PostgresError`` with code `configuration`; it never shows the text, which may hold a password. It
    ///   names a scheme or a parameter of another client.
    public init(url: String) throws(PostgresError) {
        guard !url.isEmpty else {
            throw PostgresError(.configuration, "database URL: expected postgresql://…, got an empty text")
        }
        let parts = DatabaseURL(url)
        var message: UnsafeMutablePointer<CChar>?
        guard parts?.hasStrayAt != true, let options = PQconninfoParse(url, &message) else {
            // libpq quotes the part that it can't parse, which may be the password.
            PQfreemem(message)
            throw Self.malformed(url, parts)
        }
        defer { PQconninfoFree(options) }
        var settings: [String: String] = [:]
        var option = options
        while let keyword = option.pointee.keyword {
            if let value = option.pointee.val { settings[String(cString: keyword)] = String(cString: value) }
            option += 1
        }
        for port in (settings["port"] ?? "").split(separator: ",") where UInt16(port) == nil {
            // Anything else may be a part of the password.
            let shown = port.allSatisfy(\.isNumber) ? "\(port.prefix(20))" : "something that is no number"
            throw PostgresError(.configuration, "database URL: port: expected 1 to 65535, got \(shown)")
        }
        self.settings = settings
        hosts = Hosts(settings)
    }

    private static func malformed(_ url: String, _ parts: DatabaseURL?) -> PostgresError {
        let problem: String
        var hint: String?
        if let scheme = parts?.foreignScheme {
            problem = "expected postgresql://…, got the scheme '\(scheme)' of another client"
        } else if let parameter = parts?.foreignParameter {
            problem = "expected libpq's parameters, such as sslmode, got '\(parameter)' of another client"
        } else {
            problem =
                "expected postgresql://user@host:5432/database or keyword=value pairs, got "
                + (parts == nil ? "something else" : "a URL that can't be parsed")
            hint = "reserved characters in a password are written in percent form: @ is %40"
        }
        return PostgresError(.configuration, "database URL: \(problem)", hint: hint)
    }

    /// The keywords for libpq. A setting of the URL wins over these.
    ///
    /// `tcp_user_timeout` and keepalives end a connection to a dead peer within 5 s, whether it is busy or idle. Of
    /// several hosts, the one that accepts writes is chosen. `options` has the timeouts and what statements rely on;
    /// some poolers refuse or ignore it.
    ///
    /// - Parameter host: the index of one of several hosts.
    func keywords(withOptions: Bool, host: Int = 0) -> [(String, String)] {
        var keywords: [String: String] = [
            "application_name": applicationName,
            "connect_timeout": "\(max(2, connectTimeout.components.seconds))",
            "keepalives": "1", "keepalives_idle": "3", "keepalives_interval": "1", "keepalives_count": "2",
            "tcp_user_timeout": "4000", "client_encoding": "UTF8",
        ]
        if settings["host"]?.contains(",") == true { keywords["target_session_attrs"] = "read-write" }
        keywords.merge(settings) { _, given in given }
        keywords.merge(hosts.settings[host]) { _, one in one }
        if withOptions {
            let timeouts = [("statement_timeout", statementTimeout), ("lock_timeout", lockTimeout)].compactMap {
                name, limit in
                // 0 would be no timeout at all.
                limit.map { "-c \(name)=\(max(1, $0.wholeMilliseconds))" }
            }
            let fixed = Self.fixedSettings + (isOwn ? ["search_path=pg_catalog,pg_temp"] : [])
            let network = Self.serverNetworkSettings.map { "-c \($0)" }
            // The last option wins: that of the URL before a timeout, but not before what statements rely on.
            let options = timeouts + network + [keywords["options"]].compactMap(\.self) + fixed.map { "-c \($0)" }
            keywords["options"] = options.joined(separator: " ")
        }
        return keywords.sorted { $0.key < $1.key }
    }

    /// Have the server end a session within 20 s once the client can't be reached. By default it keeps the session for
    /// two hours, with its locks: a network that drops packets lets no reset through.
    private static let serverNetworkSettings = [
        "tcp_keepalives_idle=10", "tcp_keepalives_interval=5", "tcp_keepalives_count=2", "tcp_user_timeout=20000",
    ]

    /// What the statements of Errand and of handlers rely on, whatever the database, the role or the URL sets.
    private static let fixedSettings = [
        "default_transaction_isolation=read\\ committed", "standard_conforming_strings=on",
    ]

    /// How long the client waits for a reply before it closes the connection.
    var clientDeadline: Duration? { statementTimeout.map { $0 + .seconds(5) } }

    public var database: String { settings["dbname"] ?? "" }

    package var user: String? { settings["user"] }

    package var password: String? { settings["password"] }

    /// The address as libpq's `keyword='value'` pairs without user and password, for a server that connects for others.
    /// A host that doesn't answer within 3 s counts as down.
    package var address: String {
        let secret: Set = ["user", "password", "passfile", "sslpassword", "options"]
        return settings.filter { !secret.contains($0.key) }
            .merging(["connect_timeout": "3"]) { given, _ in given }
            .sorted { $0.key < $1.key }
            .map { name, value in
                let escaped = value.replacing("\\", with: "\\\\").replacing("'", with: "\\'")
                return "\(name)='\(escaped)'"
            }
            .joined(separator: " ")
    }

    /// The same server and user, another database.
    package func with(database: String) -> PostgresConfiguration {
        var copy = settings
        copy["dbname"] = database
        return PostgresConfiguration(settings: copy, hosts: hosts, like: self)
    }

    /// The same, but a connection that doesn't reply voids no other connection to its host.
    package var alone: PostgresConfiguration {
        PostgresConfiguration(settings: settings, hosts: Hosts(settings), like: self)
    }

    private init(settings: [String: String], hosts: Hosts, like other: PostgresConfiguration) {
        self.settings = settings
        self.hosts = hosts
        applicationName = other.applicationName
        connectTimeout = other.connectTimeout
        statementTimeout = other.statementTimeout
        lockTimeout = other.lockTimeout
        isOwn = other.isOwn
    }
}

extension PostgresConfiguration: CustomStringConvertible {
    /// The address, without the password.
    public var description: String { "\(settings["user"].map { $0 + "@" } ?? "")\(location)" }

    /// The host, port and database.
    package var location: String {
        "\(settings["host"] ?? settings["hostaddr"] ?? "local socket")\(settings["port"].map { ":" + $0 } ?? "")/\(database)"
    }
}
