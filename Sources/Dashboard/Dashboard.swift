import Hummingbird
import Logging
import NIOCore
import Outbound
import Postgres
import Web

/// The operators' page: what runs, waits and fails, and the actions on it. Rendered here, so it needs no script.
///
/// Nobody who has not logged in sees the content of jobs or acts. Without a log-in set up, only names of this host are
/// served, so that no foreign site can read the page through a person's browser.
package struct Dashboard: Sendable {
    let store: Store
    let access: Access
    let templates: Templates
    let version: String
    let logger: Logger
    let scope: Scope
    private let host: String

    /// - Parameters:
    ///   - database: connections of its own; the user needs errand_monitor, and errand_ops for actions.
    ///   - host: where the server listens: it counts as a name of this host.
    package init(database: Database, access: AccessRules, host: String, version: String, logger: Logger) throws {
        self.init(
            store: Store(database: database), access: Access(rules: access), templates: try Templates(), scope: .only,
            host: host, version: version, logger: logger)
    }

    init(
        store: Store, access: Access, templates: Templates, scope: Scope, host: String, version: String,
        logger: Logger
    ) {
        self.store = store
        self.access = access
        self.templates = templates
        self.scope = scope
        self.version = version
        self.host = host
        self.logger = logger
    }

    /// Whether the page may be served at this host: anywhere with a log-in, else only on loopback addresses.
    package static func mayListen(at host: String, access: AccessRules) -> Bool {
        access.isLoginSetUp || host == "localhost" || IPAddress(host)?.isLoopback == true
    }
}

// MARK: - Routes
extension Dashboard {
    package func addRoutes(to router: some RouterMethods<WebContext>) {
        addRoutes(to: router, pages: Self.pages, actions: Self.actions)
    }

    func addRoutes(to router: some RouterMethods<WebContext>, pages: [(String, Handler)], actions: [(String, Handler)])
    {
        for (path, show) in pages {
            router.get(RouterPath(path)) { request, context in
                await respond(request, context) { visit in try await show(self)(visit) }
            }
        }
        for (path, act) in actions {
            router.post(RouterPath(path)) { request, context in
                await respond(request, context) { visit in try await act(self)(visit) }
            }
        }
        router.get("**") { request, context in
            await respond(request, context) { _ in throw Problem.notFound }
        }
        router.get("assets/:name") { _, context in asset(context.parameters.get("name") ?? "") }
    }

    typealias Handler = @Sendable (Dashboard) -> (Visit) async throws -> Reply

    private static let pages: [(String, Handler)] = [
        ("", { $0.overview }), ("jobs", { $0.jobs }), ("jobs/:id", { $0.job }),
        ("jobs/:id/flow", { $0.flow }), ("batches", { $0.batches }),
        ("batches/:id", { $0.batch }), ("batches/:id/cancel", { $0.batchCancelPlan }),
        ("batches/:id/retry", { $0.batchRetryPlan }), ("failures", { $0.failures }),
        ("failures/retry", { $0.retryPlan }), ("failures/discard", { $0.discardPlan }),
        ("schedules", { $0.schedules }), ("workers", { $0.workers }), ("limits", { $0.limits }),
        ("audit", { $0.audit }), ("audit/:id/undo", { $0.undoPlan }), ("log-in", { $0.logInForm }),
    ]

    private static let actions: [(String, Handler)] = [
        ("jobs/:id", { $0.changeJob }), ("batches/:id/cancel", { $0.cancelBatch }),
        ("batches/:id/retry", { $0.retryBatch }), ("audit/:id/undo", { $0.undo }),
        ("failures/retry", { $0.retryFailures }),
        ("failures/discard", { $0.discardFailures }), ("failures/bulk", { $0.stopBulk }),
        ("queues", { $0.changeQueue }), ("schedules", { $0.changeSchedule }), ("workers", { $0.changeWorker }),
        ("limits", { $0.changeLimit }), ("log-in", { $0.logIn }), ("log-out", { $0.logOut }),
    ]

    /// Whether a request without a log-in may name the server so. A foreign name that leads here is another site's.
    func isNamedHere(_ authority: String?) -> Bool {
        authority.map { Web.Address(host: host, port: 0).isNamed($0) } ?? false
    }
}
