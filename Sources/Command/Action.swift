import ArgumentParser
import Errand
import Postgres

/// A command that calls a function which changes something, and says in a line what it did.
protocol ActionCommand: AsyncParsableCommand {
    var output: ActionOutput { get }
    /// What it changes.
    var subject: Subject { get }

    func act(on connection: Connection) async throws -> Done
}

extension ActionCommand {
    func run() async throws {
        let done = try await Environment.load().withConnection(act)
        print(try output.json ? done.json(of: subject) : "\(subject): \(done.text)")
    }
}

struct ActionOutput: ParsableArguments {
    @Flag(help: "Print a JSON object: what was changed, and what was done.")
    var json = false
}

/// What a command changed, as people and programs name it.
enum Subject: CustomStringConvertible {
    case named(String, as: String)
    case numbered(Int64, as: String)

    var description: String {
        switch self {
        case .named(let name, _): name.printable
        case .numbered(let id, let field): "\(field.replacing("_id", with: "")) \(id)"
        }
    }
}

/// What became of it: one word for programs, with more for people.
struct Done {
    let word: String
    let more: String

    init(_ word: String, _ more: String = "") { (self.word, self.more) = (word, more) }

    var text: String { word + more }

    func json(of subject: Subject) throws -> String {
        switch subject {
        case .named(let name, let field): try Command.json([field: name, "done": word])
        case .numbered(let id, let field):
            try Command.json([field: JSONValue.number(Double(id)), "done": .string(word)])
        }
    }
}

/// Why something is changed, where the function wants to know.
struct Reason: ParsableArguments {
    @Option(name: .customLong("reason"), help: "The reason, for the audit and the status.")
    var text: String
}

/// Why something is changed, where it is no matter.
struct OptionalReason: ParsableArguments {
    @Option(name: .customLong("reason"), help: "The reason, for the audit.")
    var text: String?
}

extension Connection {
    /// Calls a function for its one result.
    func call<T: PostgresDecodable>(
        _ call: String, _ arguments: [any PostgresEncodable], as type: T.Type = String.self
    ) async throws -> T {
        try await query(Statement("select \(call)", arguments)).scalar(type)
    }
}
