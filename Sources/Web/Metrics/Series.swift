import CoreMetrics
import Synchronization

/// The lines of a metric for one combination of labels.
protocol Series: AnyObject, Sendable {
    static var type: MetricType { get }
    /// How many combinations of labels of a metric have lines of their own.
    static var shown: Int { get }
    init()
    /// Adds the counts of another series.
    func add(_ other: Self)
    func write(to page: inout MetricPage, name: String, labels: [Label])
}

extension Series {
    static var shown: Int { 300 }

    /// The sum of this series and another one of its type.
    func sum(with other: (any Series)?) -> any Series {
        let sum = Self()
        sum.add(self)
        if let other = other as? Self { sum.add(other) }
        return sum
    }
}

/// A value that only grows.
final class CounterSeries: Series, CounterHandler {
    static let type = MetricType.counter
    private let value = Atomic<Int64>(0)

    func increment(by amount: Int64) { value.wrappingAdd(amount, ordering: .relaxed) }

    func reset() { value.store(0, ordering: .relaxed) }

    func add(_ other: CounterSeries) { increment(by: other.value.load(ordering: .relaxed)) }

    func write(to page: inout MetricPage, name: String, labels: [Label]) {
        page.add(name, Self.type, labels, Double(value.load(ordering: .relaxed)))
    }
}

/// A current value.
final class GaugeSeries: Series, MeterHandler, RecorderHandler {
    static let type = MetricType.gauge
    private let value = Mutex(0.0)

    func set(_ new: Int64) { set(Double(new)) }
    func set(_ new: Double) { value.withLock { $0 = new } }
    func increment(by amount: Double) { value.withLock { $0 += amount } }
    func decrement(by amount: Double) { value.withLock { $0 -= amount } }
    func record(_ new: Int64) { set(Double(new)) }
    func record(_ new: Double) { set(new) }
    func add(_ other: GaugeSeries) { increment(by: other.value.withLock { $0 }) }

    func write(to page: inout MetricPage, name: String, labels: [Label]) {
        page.add(name, Self.type, labels, value.withLock { $0 })
    }
}

/// A histogram. Times are in seconds.
final class HistogramSeries: Series, TimerHandler, RecorderHandler {
    static let type = MetricType.histogram
    /// Each has 19 lines.
    static let shown = 60
    static let bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300]

    private struct State {
        /// One more than bounds: the last is beyond all of them.
        var counts = [Int64](repeating: 0, count: HistogramSeries.bounds.count + 1)
        var sum = 0.0
    }

    private let state = Mutex(State())

    func add(_ other: HistogramSeries) {
        let added = other.state.withLock { $0 }
        state.withLock { state in
            for bucket in added.counts.indices { state.counts[bucket] += added.counts[bucket] }
            state.sum += added.sum
        }
    }

    func recordNanoseconds(_ duration: Int64) { record(Double(duration) / 1e9) }

    func record(_ value: Int64) { record(Double(value)) }

    func record(_ value: Double) {
        let bucket = Self.bounds.firstIndex { value <= $0 } ?? Self.bounds.count
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    func write(to page: inout MetricPage, name: String, labels: [Label]) {
        let state = state.withLock { $0 }
        var count: Int64 = 0
        for (bucket, bound) in (Self.bounds + [.infinity]).enumerated() {
            count += state.counts[bucket]
            page.add(
                name, Self.type, suffix: "_bucket", labels + [Label("le", bound.metricText)], Double(count))
        }
        page.add(name, Self.type, suffix: "_sum", labels, state.sum)
        page.add(name, Self.type, suffix: "_count", labels, Double(count))
    }
}
