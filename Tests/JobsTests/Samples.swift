import Foundation

/// Photos that tests submit.
enum Samples {
    /// A real photograph of 17.9 megapixels, from Debian's package mate-backgrounds.
    static func photograph() throws -> [UInt8] {
        Array(
            try Data(contentsOf: URL(fileURLWithPath: "/usr/share/backgrounds/mate/abstract/Elephants_5640x3172.jpg")))
    }
}
