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
    /// Threads that a process may have. libheif takes one a processor for a photo, and libvips a few.
    package var threads = 256
    /// How long a process may take from its start to its greeting.
    package var start: Duration = .seconds(20)
    /// A process is replaced after this many photos, after one that failed, or once it had this much memory resident: what
    /// a photo has done to it reaches few others.
    package var photos = 50
    package var residentBytes: UInt64 = 400 << 20

    package init() {}
}
