import HTTPTypes
import Hummingbird
import NIOCore

/// The style, the script and the icon, each a file of its own: the page's headers allow nothing inline.
extension Dashboard {
    private static let types = ["css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"]

    func asset(_ name: String) -> Response {
        guard let ending = name.split(separator: ".").last, let type = Self.types[String(ending)],
            let text = Embedded.files["Assets/\(name)"]
        else { return Response(status: .notFound, headers: .ofPage(type: "text/plain", request: "-")) }
        return Response(
            status: .ok, headers: .ofPage(type: "\(type); charset=utf-8", request: "-"),
            body: .init(byteBuffer: ByteBuffer(string: text)))
    }
}
