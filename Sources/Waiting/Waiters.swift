/// Tasks that each wait for one value, which may arrive before the task sleeps.
///
/// The owner keeps it under its lock. ``add()`` comes first, then ``sleep(_:as:)`` and ``wake(_:with:)`` in either
/// order. Continuations are resumed by the owner, outside of that lock.
package struct Waiters<Value: Sendable>: Sendable {
    package typealias Continuation = CheckedContinuation<Value, Never>

    private var lastID: UInt64 = 0
    private var asleep: [UInt64: Continuation] = [:]
    /// Values of tasks that have not gone to sleep yet.
    private var early: [UInt64: Value] = [:]

    package init() {}

    /// Announces a task that is going to wait. Returns the number by which it is woken.
    package mutating func add() -> UInt64 {
        lastID += 1
        return lastID
    }

    /// The task goes to sleep. Returns the value with which to resume it now; nil if it has to wait.
    package mutating func sleep(_ id: UInt64, as continuation: Continuation) -> Value? {
        if let value = early.removeValue(forKey: id) { return value }
        asleep[id] = continuation
        return nil
    }

    /// Gives the task its value, once. Returns the continuation to resume with it; nil if the task isn't asleep yet,
    /// and takes the value from ``sleep(_:as:)``.
    package mutating func wake(_ id: UInt64, with value: Value) -> Continuation? {
        if let continuation = asleep.removeValue(forKey: id) { return continuation }
        early[id] = value
        return nil
    }
}
