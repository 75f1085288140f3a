/// Caches an expensive value for its lifetime. Concurrent callers share one computation.
actor Recent<Value: Sendable> {
    private let lifetime: Duration
    private let ask: @Sendable () async -> Value
    private var asking: Task<Value, Never>?
    private var last: (value: Value, at: ContinuousClock.Instant)?

    init(for lifetime: Duration, _ ask: @escaping @Sendable () async -> Value) {
        self.lifetime = lifetime
        self.ask = ask
    }

    func value() async -> Value {
        if let last, last.at + lifetime > .now { return last.value }
        if let asking { return await value(of: asking) }
        // Not a child task: other callers wait for it too.
        let task = Task { await ask() }
        asking = task
        let value = await value(of: task)
        asking = nil
        last = (value, .now)
        return value
    }

    /// Callers are cancelled together when the server stops, which must not wait for a slow database.
    private func value(of task: Task<Value, Never>) async -> Value {
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
