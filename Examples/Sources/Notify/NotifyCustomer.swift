import Errand
import ErrandPush
import Foundation

/// Tells a customer that an order is on its way.
public struct NotifyCustomer: Job {
    public static let kind: JobKind = "notify_customer"
    public static let policy = JobPolicy(circuits: ["apns"])
    public var deviceToken: String

    public init(deviceToken: String) { self.deviceToken = deviceToken }
}

public struct NotifyCustomerHandler: JobHandler {
    let pushes: any PushService

    public init(pushes: any PushService) { self.pushes = pushes }

    public func run(_ job: NotifyCustomer, in context: JobContext) async throws -> Outcome {
        let payload = try NotificationPayload(body: "Your order is on its way")
        let push = Push(
            to: job.deviceToken, kind: .alert, expiration: Int64(Date.now.timeIntervalSince1970) + 3_600,
            payload: payload.bytes(for: pushes.route))
        do {
            _ = try await pushes.send(push, at: .now, by: .now + .seconds(30))
            return .done
        } catch {
            if error.code == .tokenGone { return .cancel(reason: "the device's token is invalid") }
            if error.isUnreachable { return .unavailable("apns", reason: "\(error)") }
            if error.isPermanent { return .fail(error) }
            throw error
        }
    }
}

/// Apple's production server, with the key in a `.p8` file.
public func openAPNs(keyFile: String, id: String, team: String, topic: String) throws -> any PushService {
    let key = try APNsKey(pem: try String(contentsOfFile: keyFile, encoding: .utf8), id: id, team: team)
    return try APNsService(APNsConfiguration(server: "production", topic: topic, key: key))
}

/// Google's server, with the JSON file of a service account.
public func openFCM(accountFile: String) throws -> any PushService {
    let account = try FCMServiceAccount(json: try String(contentsOfFile: accountFile, encoding: .utf8))
    return try FCMService(FCMConfiguration(account: account))
}
