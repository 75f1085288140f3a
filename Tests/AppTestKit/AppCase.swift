import AppSchemas
import Foundation

/// A part of a test over all apps: SQL of one app, from `Tests/JobsTests/<app>/cases.sql`. So such a test names no app.
///
/// A line `-- case: TOPIC NAME` begins a case; many topics have no names. Its statements end with `;` at the end of a
/// line. In them `:'anna'` is a literal with the value of that name, and `:anna` the value itself.
package struct AppCase: Sendable {
    package enum Topic: String, CaseIterable, Sendable {
        /// Calls by operators, which must not call an attacker's functions.
        case hijack
        /// Calls with `$1`, beside those that are made for each argument of each function of the catalog.
        case attack
        /// The columns of a view that errand_monitor does not read, as `app.view: column column`.
        case hidden
        /// Expressions that are true in a database whose locale is Turkish.
        case locale
        /// Calls that notify, and don't with `errand.notify = off`.
        case notifies
        /// Calls that must work under strange settings of the database.
        case settings
        /// Such calls in days of maintenance.
        case upkeep
        /// Kinds whose jobs run before ordinary ones.
        case first

        /// Rows about user-4711, called Zoe, which their erasure removes; ben is another user.
        case person
        /// Rows of others in which words of the program and of the test are values.
        case alike
        /// Rows of each user of the table `public.crowd`.
        case crowd

        /// What a random walk over calls begins with; its users are anna, ben and carl.
        case start
        /// A call of that walk.
        case step
        /// What is wrong after that walk.
        case wrong
        /// The keys of all objects that rows name.
        case objects
        /// The keys of objects that the store must have.
        case promised
        /// Whether a push of that name, in `said`, is true; `by FIELD` follows a name that the push itself does not
        /// have.
        case truth

        /// What the users of a flow have before it begins. Its result is a value of that name.
        case enter
        /// What anna has that is removed with her.
        case own
        /// Calls that come between a flow and its effect; `, removes data` follows the name of some.
        case disturbance
        /// What is wrong after the disturbance of that name.
        case after
        /// What is wrong when nothing is left to do.
        case left
        /// Kinds whose jobs may be left, if they are due much later.
        case later
        /// The push tokens, with their users and the data that their pushes lack.
        case tokens
        /// What a bench for flows begins with.
        case bench
        /// Rows as long as something is left to do.
        case pending
        /// Rows once a job has met a fault of a service.
        case fault
        /// Calls that enqueue what removes objects.
        case removal
        /// Statements that let time pass.
        case pass
    }

    package let app: String
    package let topic: Topic
    /// What follows the topic.
    package let name: String
    package let statements: [String]

    /// The cases of all apps. Those of an app come after those of the apps that it needs.
    private static let all: [AppCase] = AppSchemas.names.flatMap { app in
        let file = URL(fileURLWithPath: #filePath).appending(path: "../../JobsTests/\(app)/cases.sql")
            .standardizedFileURL
        let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
        return text.components(separatedBy: "-- case: ").dropFirst().map { AppCase(app: app, text: $0) }
    }

    package static func all(_ topic: Topic) -> [AppCase] { all.filter { $0.topic == topic } }

    /// The statements of all apps on a topic.
    package static func statements(_ topic: Topic) -> [String] { all(topic).flatMap(\.statements) }

    /// The queries of all apps on a topic as one; one without rows if no app has any.
    ///
    /// - Parameter columns: those of the query without rows.
    package static func union(_ topic: Topic, of columns: String = "null::text") -> String {
        (statements(topic) + ["select \(columns) where false"]).joined(separator: "\nunion all\n")
    }

    private init(app: String, text: String) {
        let (head, body) = text.divided(at: "\n")
        let (topic, name) = head.divided(at: " ")
        guard let topic = Topic(rawValue: topic) else { preconditionFailure("\(app): no test reads the case \(head)") }
        (self.app, self.topic, self.name) = (app, topic, name)
        let lines = body.split(separator: "\n").filter { !$0.hasPrefix("--") }
        statements = (lines.joined(separator: "\n") + "\n").components(separatedBy: ";\n").map(\.trimmed).filter {
            !$0.isEmpty
        }
    }

    /// The statements with these values.
    package func statements(with values: [String: String]) -> [String] { statements.map { $0.filled(with: values) } }
}

extension String {
    /// The text with the values of names: `:'name'` is a literal, `:name` the value itself.
    package func filled(with values: [String: String]) -> String {
        replacing(/(?<before>^|[^:]):(?<quote>'?)(?<name>[a-z_]+)\k<quote>/) { match in
            guard let value = values[String(match.name)] else { return String(match.0) }
            return "\(match.before)\(match.quote)\(value)\(match.quote)"
        }
    }

    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }

    fileprivate func divided(at separator: Character) -> (String, String) {
        let parts = split(separator: separator, maxSplits: 1).map(String.init)
        return (parts.first ?? "", parts.count > 1 ? parts[1] : "")
    }
}
