import Cryptography
import Testing

@Suite("Keys of passwords") struct PasswordTests {
    @Test(
        "a key is that of RFC 7914",
        arguments: [
            (
                "", "", 16, 1, 1,
                "77d6576238657b203b19ca42c18a0497f16b4844e3074ae8dfdffa3fede21442"
                    + "fcd0069ded0948f8326a753a0fc81f17e8d3e0fb2e0d3628cf35e20c38d18906"
            ),
            (
                "password", "NaCl", 1024, 8, 16,
                "fdbabe1c9d3472007856e7190d01e9fe7c6ad7cbc8237830e77376634b373162"
                    + "2eaf30d92e22a3886ff109279d9830dac727afb94a83ee6d8360cbdfa2cc0640"
            ),
            (
                "pleaseletmein", "SodiumChloride", 16384, 8, 1,
                "7023bdcb3afd7348461c06cd81fd38ebfda8fbba904f8e3ea9b543f6545da1f2"
                    + "d5432955613f0fcf62d49705242a9af9e61e85dc0d651e40dfcf017b45575887"
            ),
        ])
    func keys(
        password: String, salt: String, rounds: Int, blockSize: Int, parallelism: Int, key: String
    ) throws {
        let derived = try Scrypt.key(
            from: Array(password.utf8), salt: Array(salt.utf8), size: 64, rounds: rounds, blockSize: blockSize,
            parallelism: parallelism)
        #expect(derived == bytes(key))
    }

    @Test("rounds that take more than 32 MB are possible: 2^17 take 128")
    func memory() throws {
        let derived = try Scrypt.key(
            from: [1], salt: [2], size: 32, rounds: 1 << 17, blockSize: 8, parallelism: 1)
        #expect(derived.count == 32)
    }

    @Test(
        "rounds that are no power of two, and numbers below 1, are refused",
        arguments: [(1000, 8, 1, 32), (1, 8, 1, 32), (1024, 0, 1, 32), (1024, 8, -1, 32), (1024, 8, 1, 0)])
    func refused(rounds: Int, blockSize: Int, parallelism: Int, size: Int) {
        let error = #expect(throws: CryptographyError.self) {
            try Scrypt.key(
                from: Array("hunter2".utf8), salt: [2], size: size, rounds: rounds, blockSize: blockSize,
                parallelism: parallelism)
        }
        #expect(error.map { "\($0)".contains("hunter2") } == false)
    }

    @Test("bytes are equal if all are, and as many")
    func equality() {
        let one = Array("0123456789abcdef".utf8)
        #expect(one.equalsInConstantTime(Array("0123456789abcdef".utf8)))
        #expect([UInt8]().equalsInConstantTime([]))
        for index in one.indices {
            var other = one
            other[index] ^= 1
            #expect(!one.equalsInConstantTime(other))
        }
        #expect(!one.equalsInConstantTime(Array(one.dropLast())) && !one.equalsInConstantTime(one + [0]))
    }
}
