/// This program in the place of the last released one, which `make test-previous` runs beside it until there is one.
///
/// A debug build plays it if it is started under the name `errand-before`.
enum StandIn {
    static let version = "0.0.1"

    #if DEBUG
    static let isOn = ErrandCommand.arguments[0].hasSuffix("/errand-before")
    #else
    static let isOn = false
    #endif
}
