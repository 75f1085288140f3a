import Errand
import Foundation
import NIOHTTP1

/// An attempt as a webhook by the convention of Standard Webhooks, with what a handler wants to know beside.
struct Message {
    let headers: HTTPHeaders
    let body: [UInt8]

    /// - Parameters:
    ///   - secrets: one, or two while it is replaced.
    ///   - callbackBase: the URL of the HTTP API, without a slash at its end; empty if it isn't known.
    ///   - time: in Unix seconds. Receivers refuse a message that is minutes old.
    init(_ request: EndpointRequest, secrets: [EndpointSecret], callbackBase: String, sentAt time: Int64) {
        body = request.payload.bytes
        // The same for each attempt, so that a server that has done the job before knows it.
        let id = "job_\(request.jobID)"
        let signed = Array("\(id).\(time).".utf8) + body
        var headers: HTTPHeaders = [
            "content-type": "application/json", "accept": "application/json", "user-agent": "errand",
            "webhook-id": id, "webhook-timestamp": "\(time)",
            "webhook-signature": secrets.map { $0.signature(of: signed) }.joined(separator: " "),
            "errand-kind": request.kind, "errand-queue": request.queue, "errand-attempt": "\(request.attempt)",
            "errand-max-attempts": "\(request.maxAttempts)",
            "errand-callback": "\(callbackBase)/v1/signals/\(request.callbackToken)",
        ]
        if let traceparent = request.traceparent { headers.add(name: "traceparent", value: traceparent) }
        self.headers = headers
    }
}
