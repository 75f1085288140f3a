import API
import ArgumentParser
import Listings
import Postgres

struct TokenCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Tokens of the HTTP API: make one, list them, drop one.",
        discussion: """
            errand token put shop --kind send_mail --queue mail --reason 'the shop has no database login'
            errand token list
            errand token drop shop --reason 'the shop has moved'

            A job belongs to the token that enqueued it: no other token sees it, waits for it or cancels it.
            """,
        subcommands: [PutToken.self, ListTokens.self, DropToken.self])
}

struct PutToken: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "put",
        abstract: "Make a token and print it, once: the database has its hash alone.",
        discussion: """
            A name that is there already gets a new token with these bounds, and keeps its jobs. The old token is \
            refused at once.
            """)

    @Argument(help: "Whose it is, such as shop.")
    var name: String

    @Option(name: .customLong("kind"), help: "A kind that it may enqueue; again for more. Default: all.")
    var kinds: [String] = []

    @Option(name: .customLong("queue"), help: "A queue that it may enqueue into; again for more. Default: all.")
    var queues: [String] = []

    @OptionGroup var reason: OptionalReason

    @Flag(help: "Print a JSON object with the name and the token.")
    var json = false

    func run() async throws {
        let token = APIToken()
        let isNew = try await Environment.load().withConnection { connection in
            try await connection.call(
                "errand.put_api_token($1, $2, $3, $4, $5)",
                [
                    name, token.hash, kinds.isEmpty ? nil : kinds, queues.isEmpty ? nil : queues, reason.text,
                ], as: Bool.self)
        }
        if !isNew { writeError("errand: the token that \(name.printable) had before is refused from now on") }
        print(json ? try Command.json(["name": name, "token": token.text]) : token.text)
    }
}

struct ListTokens: ListingCommand {
    static let configuration = CommandConfiguration(
        commandName: "list",
        abstract: "Show the tokens of the HTTP API, and what each may enqueue.",
        discussion: "Reads the view errand.api_tokens. Times are in UTC.")

    @OptionGroup var output: ListOutput

    var query: Query { Query(Listing.apiTokens.query()) }
    var none: String { "no token is set" }

    static let table = [
        Column("NAME", \.name), Column("KINDS") { $0.list("kinds") ?? "all" },
        Column("QUEUES") { $0.list("queues") ?? "all" }, Column("SET AT") { $0.set_at.map(inSeconds) },
        Column("BY", \.set_by),
    ]
}

struct DropToken: ActionCommand {
    static let configuration = CommandConfiguration(
        commandName: "drop",
        abstract: "Drop a token: it is refused from now on. Its jobs stay and run.")

    @Argument(help: "The token's name.")
    var name: String

    @OptionGroup var reason: OptionalReason
    @OptionGroup var output: ActionOutput

    var subject: Subject { .named(name, as: "token") }

    func act(on connection: Connection) async throws -> Done {
        try await connection.execute(Statement("select errand.drop_api_token($1, $2)", [name, reason.text]))
        return Done("dropped")
    }
}
