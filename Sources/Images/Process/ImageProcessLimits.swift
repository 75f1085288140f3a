/// What one `errand-image` may use, and when it is replaced by a new one.
package struct ImageProcessLimits: Sendable {
    /// Virtual memory. A photo that needs more fails with ``ImageError/Code/memoryLimit``.
    package var addressSpace: UInt64 = 1_536 << 20
    /// From the first byte sent to the last byte received, for each photo. Then the process is killed.
    package var wallClock: Duration = .seconds(60)
    /// Processor time for each photo, kept by the kernel. A second bound, should the pool itself be stopped.
    package var processorSeconds: UInt64 = 60
    /// The largest photo that is taken, in bytes.
    package var inputBytes = 128 << 20
    /// How long a process may take from its start to its greeting.
    package var start: Duration = .seconds(20)
    /// A process is replaced after this many photos, or once it had this much memory resident.
    package var photos = 500
    package var residentBytes: UInt64 = 400 << 20

    package init() {}
}
