import ErrandPush
import Foundation
import Jobs
import Logging

extension Settings {
    /// Apple's and Google's push services; the log instead if ERRAND_PUSH is `log`.
    func pushServices(_ logger: Logger) throws -> PushServices {
        let route = try value(.push) { PushRoute(rawValue: $0) }
        if route == .log { return PushServices(PushLog(logger: logger)) }
        let server = value(.apnsServer)?.text
        return PushServices(
            apns: try apnsService(), fcm: try fcmService(),
            environment: server.flatMap { ["production", "sandbox"].contains($0) ? $0 : nil })
    }

    /// Apple's push service if APNS_KEY and its companions are set, otherwise a service that sends nothing.
    private func apnsService() throws -> any PushService {
        let needed: [Setting] = [.apnsKey, .apnsKeyID, .apnsTeamID, .apnsTopic]
        let values = needed.map { value($0)?.text }
        guard values.contains(where: { $0 != nil }) else { return UnsetPushes() }
        for (setting, value) in zip(needed, values) where value == nil {
            throw ConfigurationError(
                "\(setting.variable) is not set: expected \(setting.expected), beside the other settings of APNs")
        }
        let texts = values.compactMap(\.self)
        do {
            let pem = try content(texts[0], isText: { $0.contains("-----BEGIN") }, of: .apnsKey)
            let key = try APNsKey(pem: pem, id: texts[1], team: texts[2])
            let (server, _) = value(.apnsServer) ?? ("production", .fallback)
            var configuration = try APNsConfiguration(server: server, topic: texts[3], key: key)
            configuration.authorities = value(.apnsAuthorities)?.text
            return try APNsService(configuration)
        } catch let error as MalformedPushKey {
            throw ConfigurationError("APNS_KEY: \(error)")
        } catch let error as MalformedPushServer {
            throw ConfigurationError("APNS_SERVER: \(error)")
        } catch let error as PushError {
            throw ConfigurationError("APNS_AUTHORITIES: \(error.reason)")
        }
    }

    /// Google's push service if FCM_SERVICE_ACCOUNT is set, otherwise a service that sends nothing.
    private func fcmService() throws -> any PushService {
        guard let (text, _) = value(.fcmServiceAccount) else { return UnsetPushes("FCM_SERVICE_ACCOUNT") }
        do {
            let json = try content(text, isText: { $0.contains("{") }, of: .fcmServiceAccount)
            let (server, _) = value(.fcmServer) ?? ("production", .fallback)
            var configuration = try FCMConfiguration(server: server, account: try FCMServiceAccount(json: json))
            configuration.authorities = value(.fcmAuthorities)?.text
            return try FCMService(configuration)
        } catch let error as MalformedServiceAccount {
            throw ConfigurationError("FCM_SERVICE_ACCOUNT: \(error)")
        } catch is MalformedPushServer {
            throw ConfigurationError("FCM_SERVER: expected \(Setting.fcmServer.expected)")
        } catch let error as PushError {
            throw ConfigurationError("FCM_AUTHORITIES: \(error.reason)")
        }
    }

    /// The text itself, or the content of the file with this name.
    private func content(_ text: String, isText: (String) -> Bool, of setting: Setting) throws -> String {
        if isText(text) { return text }
        guard let bytes = FileManager.default.contents(atPath: text) else {
            throw ConfigurationError("\(setting.variable): expected \(setting.expected), got none that can be read")
        }
        return String(decoding: bytes, as: UTF8.self)
    }
}
