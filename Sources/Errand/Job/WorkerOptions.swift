/// The options of a job that only its worker reads: the column `options` of errand.job. `errand_internal.check_options`
/// checks them, and no other SQL looks at them.
package struct WorkerOptions: Sendable, Hashable, Codable {
    /// The trace of the job, in W3C Trace Context format.
    package var traceparent: String?
    /// The login that follows the job; `errand.enqueue` notes it.
    private(set) var owner: String?
}
