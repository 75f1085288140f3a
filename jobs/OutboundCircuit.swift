import Errand
import ErrandStorage
import Foundation
import Logging
import Outbound
import Postgres

/// A service outside of the database that jobs depend on: the circuit of their policies.
///
/// If the service can't be reached, or its keys, rights or settings are wrong, the job parks and no attempt is counted.
/// Any other error of the service counts an attempt.
struct OutboundCircuit {
    static let storage = OutboundCircuit(
        name: "storage", faultMessage: "the object store has to be fixed: jobs that need it are parked")
    /// Free space in the store: jobs that need none, or free some, go on without it.
    static let storageSpace = OutboundCircuit(
        name: "storage_space", faultMessage: "the object store has to be fixed: jobs that need it are parked")
    static let apns = OutboundCircuit(
        name: "apns", faultMessage: "APNs has to be configured correctly: jobs that need it are parked")
    static let fcm = OutboundCircuit(
        name: "fcm", faultMessage: "FCM has to be configured correctly: jobs that need it are parked")

    /// How long jobs are parked before one of them retries a misconfigured service.
    static let faultRetryDelay: Duration = .seconds(60)

    let name: String
    private let faultMessage: Logger.Message

    /// The error to throw to park the job; nil if the error is handled like any other.
    ///
    /// A misconfiguration is logged as an error. `errand.health()` and `errand.circuits` show it as long as it
    /// lasts.
    func parking(_ error: any Error, in context: JobContext) async throws -> Unavailable? {
        guard let error = error as? any OutboundError else { return nil }
        if error.isUnreachable { return Unavailable(name, reason: "\(error)") }
        guard error.fault == .configuration else { return nil }
        // By the database's clock, which decides when a job is due.
        let present = try await context.database.query("select now()").scalar(Timestamp.self)
        return misconfigured(error, at: present, in: context)
    }

    /// The same for a misconfiguration, at a time of the database's clock.
    func misconfigured(_ error: any OutboundError, at present: Timestamp, in context: JobContext) -> Unavailable {
        context.logger.error(faultMessage, metadata: ["error": "\(error)"])
        let until = Timestamp(present.date + Self.faultRetryDelay / .seconds(1))
        return Unavailable(name, until: until, reason: "\(error)")
    }
}

extension OutboundCircuit {
    /// The outcome of a job that writes to the object store. An error that is permanent fails the job; a full store
    /// parks it until there is space, one that can't be reached or is misconfigured until that is fixed.
    static func storing(in context: JobContext, _ body: () async throws -> Outcome) async throws -> Outcome {
        do {
            return try await body()
        } catch let error as StorageError where error.isPermanent {
            return .fail(error)
        } catch let error as StorageError where error.code == .full {
            throw Unavailable(storageSpace.name, reason: "\(error)")
        } catch {
            if let down = try await storage.parking(error, in: context) { throw down }
            throw error
        }
    }
}

extension StorageError {
    /// The same error without the object's key, for records that outlive the object: those of jobs and circuits.
    func hiding(_ key: String) -> StorageError { StorageError(code, detail.replacing(key, with: "the object")) }
}
