/// An answer that costs something, asked for at most once in its lifetime, and by one caller at a time, however many want it.
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
        if let asking { return await answer(of: asking) }
        // Not a child: others wait for it too.
        let task = Task { await ask() }
        asking = task
        let value = await answer(of: task)
        asking = nil
        last = (value, .now)
        return value
    }

    /// Callers are cancelled all together, when the process stops answering: that must not wait for a slow database.
    private func answer(of task: Task<Value, Never>) async -> Value {
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
    }
}
