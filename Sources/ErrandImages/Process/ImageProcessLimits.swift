/// What one `errand-image` may use, and when a new one replaces it.
public struct ImageProcessLimits: Sendable {
    /// Virtual memory, in bytes. Default 1,536 MiB. A photo that needs more fails with ``ImageError/Code/memoryLimit``.
    public var addressSpace: UInt64 = 1_536 << 20
    /// For each photo, from the first byte sent to the last byte received. Default 60 s. Then the process is killed,
    /// and the photo fails with ``ImageError/Code/timedOut``: on a busy host, a second of work takes a minute.
    public var wallClock: Duration = .seconds(60)
    /// Processor time for each photo, in seconds. Default 60. The kernel enforces it, even if this process is stopped.
    /// A photo that needs more fails with ``ImageError/Code/timeLimit``.
    public var processorSeconds: UInt64 = 60
    /// The largest source, in bytes. Default 128 MiB.
    public var inputBytes = 128 << 20
    /// Most threads of a process. Default 256. libheif takes one for each processor, and libvips a few.
    public var threads = 256
    /// Most time from the start of a process until it is ready. Default 20 s. Then the photo that waits for it fails
    /// with ``ImageError/Code/timedOut``.
    public var start: Duration = .seconds(20)
    /// Photos after which a process is replaced. Default 50. One that failed on a photo is replaced at once: damage
    /// that a photo did to the process reaches few others.
    public var photos = 50
    /// Resident memory after which a process is replaced, in bytes. Default 400 MiB.
    public var residentBytes: UInt64 = 400 << 20

    /// The defaults.
    public init() {}
}
