/// A grey progressive JPEG in a few bytes, with any number of scans and descriptions.
struct CraftedJPEG {
    var width: Int
    var height: Int
    var descriptions = 0
    var scans = 1
    /// The bytes before each description and each scan.
    var between: [UInt8] = []

    var bytes: [UInt8] {
        let description = between + segment(0xE1, Array("Exif\0\0".utf8) + [UInt8](repeating: 1, count: 8))
        let scan = between + segment(0xDA, [1, 1, 0, 1, 63, 0]) + blocks
        return [0xFF, 0xD8] + (0..<descriptions).flatMap { _ in description }
            + segment(0xDB, [0] + [UInt8](repeating: 1, count: 64))
            + segment(0xC2, [8] + number(height) + number(width) + [1, 1, 0x11, 0])
            // One code of one bit: a run of blocks without further coefficients.
            + segment(0xC4, [0x10, 1] + [UInt8](repeating: 0, count: 15) + [0xE0])
            + (0..<scans).flatMap { _ in scan } + [0xFF, 0xD9]
    }

    /// All blocks of a scan, 32,767 in two bytes.
    private var blocks: [UInt8] {
        var left = (width + 7) / 8 * ((height + 7) / 8)
        var bits: [Bool] = []
        while left > 0 {
            let extra = min(max(left, 16_384), 32_767) - 16_384
            bits.append(false)
            bits += (0..<14).reversed().map { extra >> $0 & 1 == 1 }
            left -= 16_384 + extra
        }
        bits += [Bool](repeating: true, count: (8 - bits.count % 8) % 8)
        return stride(from: 0, to: bits.count, by: 8).flatMap { start -> [UInt8] in
            let byte = bits[start..<start + 8].reduce(UInt8(0)) { $0 << 1 | ($1 ? 1 : 0) }
            return byte == 0xFF ? [0xFF, 0] : [byte]
        }
    }

    private func number(_ value: Int) -> [UInt8] { [UInt8(value >> 8), UInt8(value & 0xFF)] }

    private func segment(_ marker: UInt8, _ content: [UInt8]) -> [UInt8] {
        [0xFF, marker] + number(content.count + 2) + content
    }
}
