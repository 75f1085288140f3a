import AppSchemas
import Foundation
import Postgres

/// `errand migrate --drop-app`: shows what an app has, removes its objects from the store, then drops it.
struct DropApp {
    let app: String
    /// Nil changes nothing.
    let reason: String?
    let connection: Connection

    /// How long the command waits for one more object to go before it gives up.
    private static let timeout: Duration = .seconds(300)

    func run() async throws {
        let installed = try await connection.installedApps()
        guard installed.contains(app) else {
            throw Failure(
                code: Failure.misconfigured,
                "--drop-app: expected an app of the database (\(installed.joined(separator: ", "))), got '\(app)'")
        }
        let others = AppSchemas.all.filter { installed.contains($0.name) && $0.needs.contains(app) }.map(\.name)
        if !others.isEmpty {
            throw Failure(
                code: Failure.misconfigured,
                "--drop-app: expected an app that no other needs, got \(app), which is needed by "
                    + others.joined(separator: ", "))
        }
        let contents = try await connection.query(
            Statement("select what, number from errand_internal.app_contents($1)", [app])
        ).map { try $0.decode(String.self, Int.self) }
        print("app \(app) has " + contents.map { "\($0): \($1)" }.joined(separator: ", "))
        guard let reason else { return print("nothing was changed: give a --reason to drop it") }
        try await removeObjects(reason)
        try await connection.execute(Statement("select errand_internal.drop_app($1, $2)", [app, reason]))
        print("app \(app) is dropped")
    }

    /// Waits until the workers have removed all of its objects, and the store has confirmed it.
    private func removeObjects(_ reason: String) async throws {
        var fewest = Int.max
        var since = ContinuousClock.now
        while true {
            let left = try await connection.query(
                Statement("select errand_internal.remove_app_objects($1, $2)", [app, reason])
            ).scalar(Int.self)
            guard left > 0 else { return }
            let isWorked = try await connection.query(
                "select exists (select from errand.workers where not is_lost and 'object_removal' = any (kinds))"
            ).scalar(Bool.self)
            guard isWorked else {
                throw Failure(
                    code: Failure.unreachable,
                    "\(left) objects of \(app) are left, and no worker runs that could remove them: "
                        + "start one with the store's settings, and repeat this")
            }
            if left < fewest {
                print("\(left) objects are left: the workers remove them")
                (fewest, since) = (left, .now)
            } else if ContinuousClock.now - since > Self.timeout {
                throw Failure(
                    code: Failure.unreachable,
                    "\(left) objects of \(app) are left after 5 minutes: media.removal_status says why; then repeat this"
                )
            }
            try await Task.sleep(for: .seconds(1))
        }
    }
}
