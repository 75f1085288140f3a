import ErrandPush
import Jobs

extension Diagnostics {
    /// Shows where pushes would go, and sends none. Live Activities need Apple alone, notifications Google too.
    func checkPushes(google: Bool) async -> [Finding] {
        let name = "pushes"
        do {
            let services = try environment.settings.pushServices(environment.logger)
            await services.stop()
            if services.apns.route == .log { return [.ok(name, "to the log and no device, as ERRAND_PUSH says")] }
            let apple: Finding =
                services.apns.route == .apns
                ? .ok(name, "to Apple's server `\(environment.settings.value(.apnsServer)?.text ?? "")`")
                : .warn(
                    name, "no key is set: no push is sent to Apple, and jobs with such pushes wait",
                    fix: "set APNS_KEY, APNS_KEY_ID, APNS_TEAM_ID and APNS_TOPIC; or ERRAND_PUSH=log to try out")
            guard google else { return [apple] }
            let google: Finding =
                services.fcm.route == .fcm
                ? .ok(name, "to Google's server `\(environment.settings.value(.fcmServer)?.text ?? "")`")
                : .warn(
                    name, "no service account is set: no push is sent to Google, and jobs with such pushes wait",
                    fix: "set FCM_SERVICE_ACCOUNT; or ERRAND_PUSH=log to try out")
            return [apple, google]
        } catch {
            return [.fail(name, "\(error)", fix: "docs/settings.md says what each setting of APNs and FCM has to be")]
        }
    }
}
