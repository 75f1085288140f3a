import ArgumentParser
import Errand

/// How long a job that is enqueued has its unique key.
struct UniquenessOptions: ParsableArguments {
    @Option(help: "When the job has the key. Default: unfinished, or waiting with merge and --no-later-than.")
    var uniqueWhile: UniqueSpan?

    @Option(
        help: "The job has the key for this long, such as 24h, even once it has ended.",
        transform: Duration.init(span:))
    var uniqueFor: Duration?

    @Option(
        help: "With --on-conflict reschedule: the job is due at most this long after its own enqueue.",
        transform: Duration.init(span:))
    var noLaterThan: Duration?

    func apply(to values: inout EnqueueOption.Values) {
        values.uniqueWhile = uniqueWhile
        values.uniqueFor = uniqueFor
        values.noLaterThan = noLaterThan
    }
}

/// The jobs that one which is enqueued comes after.
struct FlowOptions: ParsableArguments {
    @Option(name: .customLong("after"), help: "The id of a job that has to succeed first; may be repeated.")
    var parents: [Int64] = []

    @Option(help: "What becomes of the job if one of them doesn't succeed.")
    var ifParentFails = ParentFailure.wait

    @Option(name: .customLong("order"), help: "Jobs with the same key run one after the other. Default: the kind's.")
    var orderKey: String?

    @Option(help: "What a failure of the job does to those behind it. Default: the kind's, else block.")
    var ifHeadFails: HeadFailure?

    @Option(help: "The id of the batch that the job is one of (errand.batch_open).")
    var batch: Int64?

    func apply(to values: inout EnqueueOption.Values) {
        values.parents = parents
        values.ifParentFails = ifParentFails
        values.orderKey = orderKey
        values.ifHeadFails = ifHeadFails
        values.batch = batch
    }
}

extension Conflict: ExpressibleByArgument {}
extension UniqueSpan: ExpressibleByArgument {}
extension ParentFailure: ExpressibleByArgument {}
extension HeadFailure: ExpressibleByArgument {}

extension Duration {
    /// - Throws: `ValidationError` that says what was expected.
    fileprivate init(span text: String) throws {
        guard let span = Duration(setting: text) else {
            throw ValidationError(
                "expected a duration such as 90s or 24h, got '\(text.prefix(100).description.printable)'")
        }
        self = span
    }
}
