import CoreMetrics

extension MetricsFactory {
    /// Adds the label `cell` to each metric; without a name nothing.
    func labelled(cell: String?) -> any MetricsFactory {
        cell.map { CellMetrics(cell: $0, factory: self) } ?? self
    }
}

/// Makes metrics with the label `cell`, for one of several databases of a process.
private struct CellMetrics: MetricsFactory {
    let cell: String
    let factory: any MetricsFactory

    private func labelled(_ dimensions: [(String, String)]) -> [(String, String)] { dimensions + [("cell", cell)] }

    func makeCounter(label: String, dimensions: [(String, String)]) -> any CounterHandler {
        factory.makeCounter(label: label, dimensions: labelled(dimensions))
    }

    func makeFloatingPointCounter(
        label: String, dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        factory.makeFloatingPointCounter(label: label, dimensions: labelled(dimensions))
    }

    func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        factory.makeMeter(label: label, dimensions: labelled(dimensions))
    }

    func makeRecorder(label: String, dimensions: [(String, String)], aggregate: Bool) -> any RecorderHandler {
        factory.makeRecorder(label: label, dimensions: labelled(dimensions), aggregate: aggregate)
    }

    func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        factory.makeTimer(label: label, dimensions: labelled(dimensions))
    }

    func destroyCounter(_ handler: any CounterHandler) { factory.destroyCounter(handler) }
    func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {
        factory.destroyFloatingPointCounter(handler)
    }
    func destroyMeter(_ handler: any MeterHandler) { factory.destroyMeter(handler) }
    func destroyRecorder(_ handler: any RecorderHandler) { factory.destroyRecorder(handler) }
    func destroyTimer(_ handler: any TimerHandler) { factory.destroyTimer(handler) }
}
