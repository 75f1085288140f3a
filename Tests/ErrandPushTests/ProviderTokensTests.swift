import Cryptography
import Foundation
import Testing

@testable import ErrandPush

@Suite("Provider tokens") struct ProviderTokensTests {
    private let key: APNsKey
    private let publicKey: VerifyingKey
    private let pem: String

    init() throws {
        let made = try SigningKey(generating: .es256)
        pem = try made.pem()
        publicKey = made.verifyingKey
        key = try APNsKey(pem: pem, id: "ABC123DEFG", team: "TEAM123456")
    }

    @Test("a token is a JSON Web Token with ES256: the raw signature, names and time as Apple wants them, no padding")
    func form() throws {
        let parts = try key.token(issuedAt: 1_795_233_919).split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        let texts = try parts.map { try #require(decoded($0)) }
        #expect(String(decoding: texts[0], as: UTF8.self) == #"{"alg":"ES256","kid":"ABC123DEFG"}"#)
        #expect(String(decoding: texts[1], as: UTF8.self) == #"{"iss":"TEAM123456","iat":1795233919}"#)
        #expect(texts[2].count == 64)
        #expect(publicKey.isValid(Array(texts[2]), of: Array("\(parts[0]).\(parts[1])".utf8)))
    }

    @Test("four workers and 1,000 pushes in two hours: a token each 45 to 50 minutes, none older than that")
    func renewsRarely() throws {
        for _ in 0..<4 {
            var tokens = ProviderTokens(key: key)
            var issued: [Date] = []
            var last = ""
            for push in 0..<1000 {
                let now = Date(timeIntervalSince1970: 1_795_233_919 + Double(push) * 7.2)
                let token = try tokens.token(at: now)
                if token != last { issued.append(now) }
                last = token
                let age = now.timeIntervalSince(try #require(issued.last))
                #expect(age <= 50 * 60)
            }
            #expect(issued.count == 3 && tokens.minted == 3)
            for (one, next) in zip(issued, issued.dropFirst()) {
                #expect((45 * 60...50 * 60 + 8).contains(next.timeIntervalSince(one)))
            }
        }
    }

    @Test("one that Apple finds too old is replaced, but never within 20 minutes: then it is the clock that is wrong")
    func expired() throws {
        var tokens = ProviderTokens(key: key)
        let now = Date(timeIntervalSince1970: 1_795_233_919)
        let first = try tokens.token(at: now)
        let soon = try tokens.expired(first, at: now + 60)
        let kept = try tokens.token(at: now + 60)
        #expect(!soon && kept == first)
        let later = try tokens.expired(first, at: now + 1201)
        let second = try tokens.token(at: now + 1201)
        #expect(later && second != first)
        // A late renewal of the old token returns the new one.
        let late = try tokens.expired(first, at: now + 1202)
        #expect(late && tokens.minted == 2)
    }

    @Test("if Apple had too many tokens, the previous one is used again and none is created for 20 minutes")
    func tooMany() throws {
        var tokens = ProviderTokens(key: key, life: 45 * 60)
        let now = Date(timeIntervalSince1970: 1_795_233_919)
        let first = try tokens.token(at: now)
        let second = try tokens.token(at: now + 45 * 60)
        let hasOlder = tokens.tooMany(second, at: now + 45 * 60 + 1)
        let older = try tokens.token(at: now + 46 * 60)
        #expect(second != first && hasOlder && older == first)
        let hasAnother = tokens.tooMany(first, at: now + 46 * 60)
        let used = [try tokens.token(at: now + 60 * 60), try tokens.token(at: now + 67 * 60)]
        #expect(!hasAnother && used[0] == first && used[1] != first)
        #expect(tokens.minted == 3)
    }

    @Test("a key is read from its .p8 text, with line ends written out too; nothing shows it")
    func keys() throws {
        let oneLine = pem.replacing("\n", with: "\\n")
        #expect(throws: Never.self) { try APNsKey(pem: oneLine, id: "A", team: "B") }
        for text in ["", "hunter2", pem.replacing("M", with: "?")] {
            let error = #expect(throws: MalformedPushKey.self) { try APNsKey(pem: text, id: "A", team: "B") }
            #expect(error?.description.contains("hunter2") == false)
        }
        var dumped = ""
        dump(key, to: &dumped)
        let secret = pem.split(separator: "\n")[1]
        for text in ["\(key)", String(reflecting: key), dumped, "\(["key": key])"] {
            #expect(!text.contains(secret) && !text.contains("PrivateKey"))
        }
    }

    private func decoded(_ text: String) -> Data? {
        #expect(!text.contains("=") && !text.contains("+") && !text.contains("/"))
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.count % 4) % 4))
    }
}
