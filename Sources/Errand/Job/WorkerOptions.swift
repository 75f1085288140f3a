/// The options of a job that only its worker reads: the column `options` of errand.job. `errand_internal.check_options`
/// checks them.
package struct WorkerOptions: Sendable, Hashable, Codable {
    /// The trace of the job, in W3C Trace Context format.
    package var traceparent: String?
    /// The login that follows the job; `errand.enqueue` notes it.
    private(set) var owner: String?
    /// The jobs that it has waited for.
    private(set) var after: [Int64]?
    /// The batch that the job is in.
    private(set) var batch: Int64?
    /// The signal that the job has waited for.
    private(set) var signal: StoredSignal?

    /// A signal with its payload as text: JSON that a decoder doesn't look into.
    struct StoredSignal: Sendable, Hashable, Codable {
        let name: String
        let payload: String?
    }
}
