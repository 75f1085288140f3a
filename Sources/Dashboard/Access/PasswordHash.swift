import Cryptography

/// The scrypt hash of a password, as a setting holds it: `scrypt:15:8:3:SALT:KEY`, salt and key in hexadecimal digits.
///
/// The numbers are the cost: 2^15 rounds of blocks of 8, 3 times, which takes 32 MB and some tenths of a second.
package struct PasswordHash: Sendable, Equatable, CustomStringConvertible {
    private let logRounds: Int
    private let blockSize: Int
    private let parallelism: Int
    private let salt: [UInt8]
    private let key: [UInt8]

    /// Hashes a password with a new salt.
    ///
    /// - Parameter logRounds: the binary logarithm of the number of rounds.
    package init(hashing password: String, logRounds: Int = 15) throws {
        var generator = SystemRandomNumberGenerator()
        let salt = (0..<16).map { _ in UInt8.random(in: 0...255, using: &generator) }
        self.init(logRounds: logRounds, blockSize: 8, parallelism: 3, salt: salt, key: [])
        self.init(
            logRounds: logRounds, blockSize: blockSize, parallelism: parallelism, salt: salt,
            key: try derive(from: password))
    }

    /// Reads the text of a setting; nil if it isn't one, or if checking it would take more than 128 MB.
    package init?(_ text: String) {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 6, parts[0] == "scrypt", let logRounds = Int(parts[1]), (10...17).contains(logRounds),
            let blockSize = Int(parts[2]), (1...8).contains(blockSize), let parallelism = Int(parts[3]),
            (1...16).contains(parallelism), let salt = [UInt8](hexadecimal: parts[4]), salt.count >= 16,
            let key = [UInt8](hexadecimal: parts[5]), key.count == 32
        else { return nil }
        self.init(logRounds: logRounds, blockSize: blockSize, parallelism: parallelism, salt: salt, key: key)
    }

    private init(logRounds: Int, blockSize: Int, parallelism: Int, salt: [UInt8], key: [UInt8]) {
        self.logRounds = logRounds
        self.blockSize = blockSize
        self.parallelism = parallelism
        self.salt = salt
        self.key = key
    }

    package var description: String {
        "scrypt:\(logRounds):\(blockSize):\(parallelism):\(salt.hexadecimal):\(key.hexadecimal)"
    }

    /// Whether it is the hash of this password. Takes the time of its cost, right or wrong.
    package func matches(_ password: String) -> Bool {
        guard let derived = try? derive(from: password) else { return false }
        return derived.equalsInConstantTime(key)
    }

    private func derive(from password: String) throws -> [UInt8] {
        try Scrypt.key(
            from: Array(password.utf8), salt: salt, size: 32, rounds: 1 << logRounds, blockSize: blockSize,
            parallelism: parallelism)
    }
}

extension [UInt8] {
    fileprivate var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }

    fileprivate init?(hexadecimal text: Substring) {
        let digits = Array<Character>(text)
        guard digits.count.isMultiple(of: 2), digits.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).compactMap { UInt8(String(digits[$0...($0 + 1)]), radix: 16) }
    }
}
