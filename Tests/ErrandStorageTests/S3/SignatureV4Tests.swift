import Foundation
import Testing

@testable import ErrandStorage

/// The requests and signatures are those that Amazon has published: in the S3 API reference ("Signature calculations
/// for the authorization header", "Authenticating requests: using query parameters") and in its test suite for version
/// 4.
@Suite("Signature version 4") struct SignatureV4Tests {
    private let store = SignatureV4(
        credentials: S3Credentials(
            accessKey: "AKIAIOSFODNN7EXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1")
    private let suite = SignatureV4(
        credentials: S3Credentials(accessKey: "AKIDEXAMPLE", secretKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"),
        region: "us-east-1", service: "service")
    /// 2013-05-24 00:00:00 UTC
    private let day = Date(timeIntervalSince1970: 1_369_353_600)
    /// 2015-08-30 12:36:00 UTC
    private let noon = Date(timeIntervalSince1970: 1_440_938_160)
    private let host = "examplebucket.s3.amazonaws.com"

    @Test("an object is got, with a range")
    func get() {
        let request = request("GET", "/test.txt", [("Range", "bytes=0-9")])
        #expect(
            store.authorization(of: request, at: day)
                == "AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, "
                + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date, "
                + "Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41")
    }

    @Test("an object is put, under a key that has to be encoded")
    func put() {
        let hash = "\(ContentHash(of: Array("Welcome to Amazon S3.".utf8)))"
        let request = request(
            "PUT", "/test$file.text",
            [("Date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")], hash: hash)
        #expect(signature(request) == "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd")
    }

    @Test("a query without a value, and one with several")
    func queries() {
        #expect(
            signature(request("GET", "/", query: [("lifecycle", "")]))
                == "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543")
        #expect(
            signature(request("GET", "/", query: [("prefix", "J"), ("max-keys", "2")]))
                == "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7")
    }

    @Test("a URL that holds for a day")
    func presigned() {
        let request = SignatureV4.Request(
            method: "GET", path: "/test.txt", headers: [("host", host)], payloadHash: SignatureV4.unsignedPayload)
        #expect(
            store.presignedQuery(of: request, for: 86_400, at: day)
                == "X-Amz-Algorithm=AWS4-HMAC-SHA256"
                + "&X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request"
                + "&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host"
                + "&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404")
    }

    @Test(
        "the test suite's requests",
        arguments: [
            ("GET", "/", [], [], "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31"),
            ("POST", "/", [], [], "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b"),
            ("GET", "/ሴ", [], [], "8318018e0b0f223aa2bbf98705b62bb787dc9c0e678f255a891fd03141be5d85"),
            (
                "GET", "/", ["Param2=value2", "Param1=value1"], [],
                "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500"
            ),
            (
                "GET", "/", [], ["My-Header1= value1", "My-Header2= \"a   b   c\""],
                "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736"
            ),
            (
                "GET", "/", [], ["My-Header1=value2", "My-Header1=value2", "My-Header1=value1"],
                "c9d5ea9f3f72853aea855b47ea873832890dbdd183b4468f858259531a5138ea"
            ),
        ] as [(String, String, [String], [String], String)])
    func testSuite(method: String, path: String, query: [String], headers: [String], signature: String) {
        func pairs(_ texts: [String]) -> [(name: String, value: String)] {
            texts.map { text in
                let halves = text.split(separator: "=", maxSplits: 1).map(String.init)
                return (halves[0], halves[1])
            }
        }
        let request = SignatureV4.Request(
            method: method, path: path, query: pairs(query),
            headers: pairs(headers) + [("Host", "example.amazonaws.com"), ("X-Amz-Date", "20150830T123600Z")],
            payloadHash: SignatureV4.emptyPayload)
        #expect(suite.authorization(of: request, at: noon).hasSuffix("Signature=\(signature)"))
    }

    @Test("credentials show no secret, however they are printed")
    func hidden() {
        let credentials = S3Credentials(accessKey: "AKID", secretKey: "s3cr3t-key", sessionToken: "t0ken-text")
        var dumped = ""
        dump(credentials, to: &dumped)
        for text in ["\(credentials)", String(reflecting: credentials), dumped, "\([credentials])"] {
            #expect(text.contains("AKID") && !text.contains("s3cr3t") && !text.contains("t0ken"))
        }
        #expect(credentials.hidden(in: "got s3cr3t-key and t0ken-text") == "got (hidden) and (hidden)")
    }

    private func request(
        _ method: String, _ path: String, _ headers: [(name: String, value: String)] = [],
        query: [(name: String, value: String)] = [], hash: String = SignatureV4.emptyPayload
    ) -> SignatureV4.Request {
        let own = [("Host", host), ("x-amz-date", "20130524T000000Z"), ("x-amz-content-sha256", hash)]
        return .init(method: method, path: path, query: query, headers: headers + own, payloadHash: hash)
    }

    private func signature(_ request: SignatureV4.Request) -> String {
        String(store.authorization(of: request, at: day).suffix(64))
    }
}
