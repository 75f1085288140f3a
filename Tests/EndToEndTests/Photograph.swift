import Foundation

/// The top left part of a real photograph from Debian's package mate-backgrounds, as JPEG, in that size.
///
/// - Parameter isSmall: of the photograph at a quarter of its scale, 1410 by 793, which is read in a fraction of the
///   time.
func photograph(width: Int, height: Int, isSmall: Bool = false) throws -> [UInt8] {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("photograph-\(UUID().uuidString).jpg")
    defer { try? FileManager.default.removeItem(at: file) }
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/convert")
    process.arguments =
        (isSmall ? ["-define", "jpeg:size=1410x793"] : []) + [
            "/usr/share/backgrounds/mate/abstract/Elephants_5640x3172.jpg", "-crop", "\(width)x\(height)+0+0",
            "+repage", "-quality", "92", file.path,
        ]
    try process.run()
    process.waitUntilExit()
    return Array(try Data(contentsOf: file))
}

/// A PNG of 16 x 16 pixels, compressed within milliseconds.
let smallImage = [UInt8](
    Data(
        base64Encoded:
            "iVBORw0KGgoAAAANSUhEUgAAABAAAAAQCAIAAACQkWg2AAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAFklEQVQokWM4UaFB"
            + "EmIY1TCqYfhqAAADaGgQKBl2owAAAABJRU5ErkJggg==") ?? Data())
