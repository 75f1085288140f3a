import Hummingbird
import Logging
import Postgres
import Web

/// The operators' pages of several cells: an overview of all at the root, and the pages of each at `/cells/1` and so
/// on. One log-in counts for all.
package struct CellDashboards: Sendable {
    /// The pages at the root: an overview, or all pages of the only database.
    private let root: Dashboard
    /// Empty if there is one database.
    private let cells: [Dashboard]

    /// - Parameter cells: the name of each, and connections of its own; see ``Dashboard``. A single one needs no name.
    package init(
        cells: [(name: String?, database: Database)], access: AccessRules, host: String, version: String,
        logger: Logger
    ) throws {
        let (access, templates) = (Access(rules: access), try Templates())
        func dashboard(_ database: Database, _ scope: Scope, _ logger: Logger) -> Dashboard {
            Dashboard(
                store: Store(database: database), access: access, templates: templates, scope: scope, host: host,
                version: version, logger: logger)
        }
        self.cells = cells.enumerated().compactMap { index, cell in
            cell.name.map { name in
                var logger = logger
                logger[metadataKey: "cell"] = "\(name)"
                return dashboard(cell.database, .cell(name, base: "/cells/\(index + 1)"), logger)
            }
        }
        root = dashboard(cells[0].database, self.cells.isEmpty ? .only : .all, logger)
    }

    package func addRoutes(to router: Router<WebContext>) {
        guard !cells.isEmpty else { return root.addRoutes(to: router) }
        root.addRoutes(
            to: router,
            pages: [("", { all in { visit in await all.overview(of: cells, visit) } }), ("log-in", { $0.logInForm })],
            actions: [("log-in", { $0.logIn }), ("log-out", { $0.logOut })])
        for cell in cells { cell.addRoutes(to: router.group(RouterPath(cell.scope.base))) }
    }
}
