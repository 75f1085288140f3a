import Errand
import Foundation
import Postgres

extension Diagnostics {
    private static let payloads = "payloads"

    /// Whether this program's handlers decode the payloads of each database's unfinished and failed jobs.
    func payloadFindings() async -> [Finding] {
        do {
            let services = try JobServices(environment)
            let findings = try await onEachCell { cell in
                let handlers = try services.handlers(for: cell)
                var configuration = cell.configuration
                // One page may pass over millions of jobs of other kinds.
                configuration.statementTimeout = nil
                let database = Database(
                    configuration: configuration, maximumConnections: 1, logger: cell.logger)
                let findings = await Self.findings(of: handlers.all, on: database)
                await database.close()
                await handlers.stop()
                return findings
            }
            await services.stop()
            return findings
        } catch {
            return [.fail(Self.payloads, "\(error)", fix: "docs/settings.md has the form of each setting")]
        }
    }

    private static func findings(of handlers: Handlers, on database: Database) async -> [Finding] {
        do {
            let report = try await handlers.readPayloads(on: database)
            guard !report.unreadable.isEmpty else {
                return [.ok(payloads, "\(report.read) read, and each fits its kind")]
            }
            return report.unreadable.map { found in
                let dates = found.oldest == found.newest ? "\(found.oldest)" : "\(found.oldest) to \(found.newest)"
                return .fail(
                    payloads,
                    "\(found.kind): \(found.jobs) of \(dates), such as job \(found.example): \(found.reason)",
                    fix: "decode this form too, or change the jobs by `errand job edit`", code: Failure.failed)
            }
        } catch let error as PayloadsHidden {
            return [.fail(payloads, "\(error)", fix: "set DATABASE_URL to a login of errand_ops")]
        } catch {
            let state = (error as? PostgresError)?.sqlState
            return [
                .fail(
                    payloads, "\(error)", fix: "set DATABASE_URL to a login of errand_ops on a migrated database",
                    code: state == nil ? Failure.unreachable : Failure.misconfigured)
            ]
        }
    }
}
