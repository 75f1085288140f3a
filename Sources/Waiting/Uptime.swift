extension Duration {
    /// A monotonic clock of this process, which goes on while the process is stopped.
    package static var uptime: Duration { ContinuousClock.now - start }
}

private let start = ContinuousClock.now
