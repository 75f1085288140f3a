import Foundation

extension Diagnostics {
    /// Whether cards show letters and emoji. A character that no font of the host has is drawn as a box.
    func checkFonts() -> [Finding] {
        let name = "fonts"
        var missing: [String] = []
        for (what, character) in [("letters", "61"), ("emoji", "1f600")] {
            guard let fonts = Self.fonts(with: character) else {
                return [.ok(name, "not known: this host has no fc-list")]
            }
            if fonts.isEmpty { missing.append(what) }
        }
        if missing.isEmpty { return [.ok(name, "letters and emoji")] }
        return [
            .warn(
                name, "no font of this host has \(missing.joined(separator: " or ")): cards show boxes instead",
                fix: "apt-get install fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji")
        ]
    }

    /// What fontconfig lists, which chooses the fonts of cards; nil without its program.
    ///
    /// - Parameter character: its code point in hexadecimal digits.
    private static func fonts(with character: String) -> Data? {
        let list = Process()
        let output = Pipe()
        list.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        list.arguments = ["fc-list", ":charset=\(character)", "family"]
        list.standardOutput = output
        list.standardError = FileHandle.nullDevice
        guard (try? list.run()) != nil else { return nil }
        let fonts = output.fileHandleForReading.readDataToEndOfFile()
        list.waitUntilExit()
        return list.terminationStatus == 0 ? fonts : nil
    }
}
