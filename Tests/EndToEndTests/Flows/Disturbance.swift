import AppTestKit
import Foundation
import Postgres

/// What comes between a flow's call and its effect: calls of an app, or something that happens to the services or the
/// worker.
struct Disturbance: Hashable, Sendable {
    let name: String
    /// Whether it removes rows that a job may work on.
    var removesData = false
    /// The calls of an app, with names for values.
    private var statements: [String] = []

    private init(_ name: String, removesData: Bool = false) { (self.name, self.removesData) = (name, removesData) }

    static let nothing = Disturbance("nothing")
    static let delete = Disturbance("delete", removesData: true)
    static let storeDown = Disturbance("store down")
    static let deniedRead = Disturbance("denies get")
    static let deniedWrite = Disturbance("denies put")
    static let deniedDelete = Disturbance("denies delete")
    static let pushesDown = Disturbance("APNs, FCM down")
    static let kill = Disturbance("kill -9")
    static let restart = Disturbance("restart")

    /// Those of all apps too.
    static let all: [Disturbance] =
        [nothing, delete]
        + AppCase.all(.disturbance).map { entry in
            let words = entry.name.components(separatedBy: ", ")
            var disturbance = Disturbance(words[0], removesData: words.contains("removes data"))
            disturbance.statements = entry.statements
            return disturbance
        } + [storeDown, deniedRead, deniedWrite, deniedDelete, pushesDown, kill, restart]

    static func named(_ name: String) -> Disturbance {
        guard let disturbance = all.first(where: { $0.name == name }) else { preconditionFailure("no app has \(name)") }
        return disturbance
    }

    /// Whether it is a call of an app, which makes pushes untrue when it commits.
    var isCall: Bool { self == .delete || !statements.isEmpty }

    /// The calls, in one transaction; nil if it happens to the services or the worker.
    ///
    /// - Parameter delete: the calls that take the flow's effect back.
    func calls(_ cast: Cast, delete: String) -> String? {
        if self == .delete { return delete }
        return statements.isEmpty ? nil : statements.map { $0.filled(with: cast.values) }.joined(separator: ";")
    }

    /// What is wrong after it.
    func leftOver(of cast: Cast, in database: Database) async throws -> [String] {
        var wrong: [String] = []
        for entry in AppCase.all(.after) where entry.name == name {
            for statement in entry.statements(with: cast.values) {
                wrong += try await database.query(Statement(statement)).column(0, as: String.self)
            }
        }
        return wrong
    }
}
