import CoreMetrics
import Synchronization

/// Collects the program's metrics, and writes them in Prometheus's format. One per process, bootstrapped before any
/// metric is made.
///
/// Counters add an atomic number, gauges and histograms take a lock of their own: some 10 to 40 ns each.
package final class MetricRegistry: MetricsFactory {
    private struct Key: Hashable {
        let name: String
        let labels: [Label]

        /// The key under which the series beyond ``Series/shown`` are added up.
        var folded: Key {
            Key(name: name, labels: labels.map { $0.name == "cell" ? $0 : Label($0.name, "other") })
        }
    }

    private struct State {
        var types: [String: MetricType] = [:]
        var series: [Key: any Series] = [:]
        /// In the order in which they were first asked for.
        var order: [Key] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        series(label, dimensions) { CounterSeries() }
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        series(label, dimensions) { GaugeSeries() }
    }

    package func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        aggregate
            ? series(label, dimensions) { HistogramSeries() } : series(label, dimensions) { GaugeSeries() }
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        series(label, dimensions) { HistogramSeries() }
    }

    // Metrics are never removed: a counter that vanished and came back would look like a restart.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    /// The series with this name and these labels. If the name already has another type, the series is never shown: two
    /// types under one name would make the whole page unreadable to Prometheus.
    private func series<S: Series>(_ label: String, _ dimensions: [(String, String)], _ make: () -> S) -> S {
        let key = Key(name: label.metricName, labels: dimensions.map(Label.init).sorted())
        return state.withLock { state in
            guard state.types[key.name, default: S.type] == S.type else { return make() }
            if let known = state.series[key] as? S { return known }
            let new = make()
            state.types[key.name] = S.type
            state.series[key] = new
            state.order.append(key)
            return new
        }
    }
}

extension MetricRegistry {
    /// Adds the series to a page. Of each metric the first ``Series/shown`` have lines of their own, and the rest are
    /// added up as `other`: a worker of a thousand queues has no page of megabytes.
    func write(to page: inout MetricPage) {
        let all = state.withLock { state in state.order.compactMap { key in state.series[key].map { (key, $0) } } }
        var written: [String: Int] = [:]
        var folded: [Key: any Series] = [:]
        for (key, series) in all {
            let isNamed = key.labels.isEmpty || key != key.folded
            if isNamed, written[key.name, default: 0] < type(of: series).shown {
                written[key.name, default: 0] += 1
                series.write(to: &page, name: key.name, labels: key.labels)
            } else {
                folded[key.folded] = series.sum(with: folded[key.folded])
            }
        }
        for (key, series) in folded { series.write(to: &page, name: key.name, labels: key.labels) }
    }
}
