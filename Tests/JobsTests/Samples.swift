import Foundation

/// Photos that tests submit.
enum Samples {
    /// A real photograph of 17.9 megapixels, from Debian's package mate-backgrounds.
    static func photograph() throws -> [UInt8] {
        Array(
            try Data(contentsOf: URL(fileURLWithPath: "/usr/share/backgrounds/mate/abstract/Elephants_5640x3172.jpg")))
    }

    /// A real photograph of 1.8 megapixels and 1,021,283 bytes, which takes a debug build a quarter of the time.
    static func large() throws -> [UInt8] {
        Array(try Data(contentsOf: URL(fileURLWithPath: "/usr/share/backgrounds/mate/nature/Dune.jpg")))
    }

    /// A PNG of 16 x 16 pixels, compressed within milliseconds.
    static let small = [UInt8](
        Data(
            base64Encoded:
                "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAFklEQVQokWM4UaFB"
                + "EmIY1TCqYfhqAAADaGgQKBl2owAAAABJRU5ErkJggg==") ?? Data())
}
