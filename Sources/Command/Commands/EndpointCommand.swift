import ArgumentParser
import Errand
import Listings
import Postgres

struct EndpointCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "endpoint",
        abstract: "Endpoints, servers that handle jobs by HTTP: list them, put, test or drop one.",
        discussion: """
            errand endpoint put billing https://billing.example/jobs --secret billing
            errand endpoint test billing
            errand endpoint list
            errand endpoint drop billing --reason 'moved into the program'

            errand.put_http_handler points a kind to an endpoint.
            """,
        subcommands: [ListEndpoints.self, PutEndpoint.self, TestEndpoint.self, DropEndpoint.self])
}

struct ListEndpoints: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the endpoints, their kinds, their jobs, and what keeps jobs from being posted to one.",
        discussion: "Reads the view errand.endpoints. WAITING: jobs that were accepted, up to 10,000 of them.")

    @OptionGroup var output: ListOutput

    var query: Query { Query(Listing.endpoints.query()) }
    var none: String { "no endpoint is set" }

    static let table = [
        Column("NAME", \.name), Column("URL", \.url), Column("KINDS") { $0.list("kinds") },
        Column("RUNNING", \.running), Column("WAITING", \.waiting), Column("MOST", \.max_running),
        Column("PROBLEM", \.problem),
    ]
}

struct PutEndpoint: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Allow jobs to be posted to a server, or change how. What isn't given is set to its default.",
        discussion: "Running workers know it within five seconds.")

    @Argument(help: "The endpoint's name.", completion: .endpoints)
    var name: String

    @Argument(help: "Where jobs are posted: https://HOST, with a port, a path and a query as needed.")
    var url: String

    @Option(help: "Which secret of the workers signs requests. The secret itself is none of this command's.")
    var secret: String

    @Option(help: "A request that takes longer has failed: 100ms to 5m.")
    var timeout = "30s"

    @Option(help: "How long a job that was accepted with 202 waits for its callback: 1s to 168h.")
    var callbackTimeout = "24h"

    @Option(help: "How many requests run at once, 0 to 1000000. Default: no limit.")
    var most: Int?

    @Flag(help: "Allow http:// and addresses of private networks.")
    var `private` = false

    @OptionGroup var reason: OptionalReason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "endpoint") }

    func validate() throws {
        for (option, text) in [("--timeout", timeout), ("--callback-timeout", callbackTimeout)]
        where Duration(setting: text) == nil {
            throw ValidationError("\(option): expected a duration such as 30s or 24h, got '\(text.printable)'")
        }
    }

    func act(on connection: Connection) async throws -> Done {
        let times = [timeout, callbackTimeout].map { (Duration(setting: $0) ?? .zero).wholeMicroseconds }
        try await connection.execute(
            Statement(
                """
                select errand.put_endpoint(
                    $1, $2, $3, $4 * interval '1 microsecond', $5::int4, $6, $7 * interval '1 microsecond', $8)
                """, [name, url, secret, times[0], most, `private`, times[1], reason.text]))
        return Done("set")
    }
}

struct DropEndpoint: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop", abstract: "Remove an endpoint that handles no kind any more.")

    @Argument(help: "The endpoint's name.", completion: .endpoints)
    var name: String

    @OptionGroup var reason: Reason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "endpoint") }

    func act(on connection: Connection) async throws -> Done {
        try await Names.endpoints.require(name, on: connection)
        try await connection.execute(Statement("select errand.drop_endpoint($1, $2)", [name, reason.text]))
        return Done("dropped")
    }
}

struct TestEndpoint: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test",
        abstract: "Post {\"type\": \"errand.test\"} to an endpoint by a job, and print the reply.",
        discussion: """
            A worker posts it, while the endpoint's circuit is open too. Fails if the reply is no success, and \
            if no worker takes the job in time.
            """)

    @Argument(help: "The endpoint's name.", completion: .endpoints)
    var name: String

    @Option(help: "The queue of the job. Default: that of the endpoint's kinds.", completion: .queues)
    var queue: String?

    @Option(help: "How long to wait for a worker and the endpoint, at most.")
    var wait = "1m"

    @Flag(help: "Print a JSON object: job_id, state, output and error.")
    var json = false

    func validate() throws {
        guard Duration(setting: wait) != nil else {
            throw ValidationError("--wait: expected a duration such as 10s or 1m, got '\(wait.printable)'")
        }
    }

    private struct Result: Encodable {
        let job_id: Int64
        let state: String
        let output: JSONValue?
        let error: String?
    }

    func run() async throws {
        let limit = Duration(setting: wait) ?? .seconds(60)
        let result = try await Environment.load().withConnection { connection in
            try await Names.endpoints.require(name, on: connection)
            let id = try await connection.call("errand.test_endpoint($1, $2)", [name, queue], as: Int64.self)
            let end = ContinuousClock.now + limit
            while true {
                let result = try await read(id, on: connection)
                if ["succeeded", "failed", "cancelled", "obsolete"].contains(result.state) || .now > end {
                    return result
                }
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        if json { print(try Command.json(result)) }
        switch result.state {
        case "succeeded":
            if !json, case .object(let output)? = result.output {
                print("\(name.printable): \(text(output["reply"])) within \(text(output["milliseconds"])) ms")
            }
        case "failed": throw Failure(code: Failure.failed, "\(name.printable): \((result.error ?? "failed").printable)")
        default:
            throw Failure(
                code: Failure.failed,
                "\(name.printable): job \(result.job_id) is \(result.state): `errand job show \(result.job_id)`")
        }
    }

    private func read(_ id: Int64, on connection: Connection) async throws -> Result {
        let rows = try await connection.query(
            Statement(
                "select state, output, attempts -> -1 ->> 'error' from errand.jobs where id = $1", [id]))
        let (state, output, error) = try rows.row(of: "errand.jobs").decode(String.self, JSONB?.self, String?.self)
        return Result(job_id: id, state: state, output: try output.map(JSONValue.init), error: error)
    }

    private func text(_ value: JSONValue?) -> String {
        switch value {
        case .string(let text): text.printable
        case .number(let number): "\(Int64(number))"
        default: "no reply"
        }
    }
}
