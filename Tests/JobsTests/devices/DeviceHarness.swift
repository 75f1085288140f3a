import Postgres

extension Database {
    /// Registers a device for each user.
    func registerDevices(of users: String...) async throws {
        for user in users {
            try await execute(
                Statement(
                    "select devices.register($1, 'apns', encode(sha256(convert_to($1, 'UTF8')), 'hex'), environment => 'sandbox')",
                    [user]))
        }
    }
}
