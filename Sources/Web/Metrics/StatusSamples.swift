import Logging
import Postgres

/// The queue's metrics from the database: `errand.metrics()`.
struct StatusSamples: Sendable {
    struct Sample: Sendable {
        /// The metric's name, without the suffix.
        let name: String
        let type: MetricType
        /// Of a histogram's samples: `_bucket`, `_sum` or `_count`.
        let suffix: String
        let labels: [Label]
        let value: Double

        init(name: String, type: MetricType, labels: [Label], value: Double) {
            let suffix = type == .histogram ? ["_bucket", "_sum", "_count"].first(where: name.hasSuffix) ?? "" : ""
            self.name = String(name.dropLast(suffix.count))
            (self.type, self.suffix, self.labels, self.value) = (type, suffix, labels, value)
        }
    }

    let database: Database
    let logger: Logger

    /// Nil if the database doesn't reply within 5 s, or if this user has no right.
    func read() async -> [Sample]? {
        // Less than Prometheus's default timeout, so that the samples of this process still arrive.
        await within(.seconds(5)) { await ask() } ?? nil
    }

    private func ask() async -> [Sample]? {
        do {
            let rows = try await database.query("select name, type, labels, value from errand.metrics()")
            return try rows.map { row in
                let (name, type, labels, value) = try row.decode(String.self, String.self, JSONB.self, Double.self)
                return Sample(
                    name: name, type: MetricType(rawValue: type) ?? .gauge,
                    labels: try labels.decode([String: String].self).map(Label.init).sorted(), value: value)
            }
        } catch {
            logger.warning("the queue's status can't be read", metadata: ["error": "\(error)"])
            return nil
        }
    }
}
