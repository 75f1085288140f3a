import ErrandPush

/// The push services of the jobs: Apple's and Google's. A person may have devices of both.
package struct PushServices: Sendable {
    package let apns: any PushService
    package let fcm: any PushService
    /// Which of Apple's servers `apns` sends to: `production` or `sandbox`. Nil takes the devices of both.
    let environment: String?

    package init(apns: any PushService, fcm: any PushService, environment: String? = nil) {
        self.apns = apns
        self.fcm = fcm
        self.environment = environment
    }

    /// The same service for all devices, such as the log.
    package init(_ service: any PushService) { self.init(apns: service, fcm: service) }

    /// The same services, with metrics of each push.
    package var measured: PushServices {
        PushServices(
            apns: MeasuredPushes(apns, service: "apns"), fcm: MeasuredPushes(fcm, service: "fcm"),
            environment: environment)
    }

    /// Closes connections once their pushes have a response.
    package func stop() async {
        await apns.stop()
        await fcm.stop()
    }
}
