import Errand
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore
import Postgres

/// Reads a request as its operation declares it, and refuses what differs.
struct RequestReader {
    let operation: Operation
    let request: Request

    /// - Throws: ``Problem`` without a token of the right form. The database says whether it is set.
    func tokenHash() throws(Problem) -> Bytes {
        guard operation.needsToken else { return Bytes([]) }
        let headers = request.headers[values: .authorization]
        guard headers.count == 1, headers[0].prefix(7).lowercased() == "bearer ",
            let token = APIToken(headers[0].dropFirst(7))
        else { throw .tokenless }
        return token.hash
    }

    /// The trace that the caller is in; nil if the header is malformed, as its standard asks.
    var traceparent: String? {
        HTTPField.Name("traceparent").flatMap { request.headers[$0] }.flatMap(TraceParent.init)?.text
    }

    /// The values of the parameters that the request has.
    func parameters() throws(Problem) -> [String: String] {
        let path = operation.match(request.uri.path) ?? [:]
        let query = try query()
        var values: [String: String] = [:]
        for parameter in operation.parameters {
            switch parameter.location {
            case .path:
                // The same words as for one that isn't known.
                guard let text = path[parameter.name], problem(of: text, parameter) == nil else { throw .notFound }
                values[parameter.name] = text
            case .query: values[parameter.name] = try checked(query[parameter.name] ?? [], parameter)
            case .header:
                let name = HTTPField.Name(parameter.name)
                values[parameter.name] = try checked(name.map { request.headers[values: $0] } ?? [], parameter)
            }
        }
        return values
    }

    /// The body, whose JSON is as the operation declares it.
    func body(_ channel: any Channel, within limit: Duration) async throws -> String {
        guard let schema = operation.body else { return "" }
        let type = request.headers[.contentType]?.split(separator: ";").first.map {
            $0.trimmingCharacters(in: .whitespaces).lowercased()
        }
        guard type == "application/json" else {
            throw Problem(
                status: .unsupportedMediaType, detail: "Content-Type: expected application/json, got another")
        }
        let text = try await text(channel, within: limit)
        let value: JSONValue
        do {
            value = try JSONValue(JSONB(text))
        } catch {
            throw Problem.malformed("body: expected JSON, got another text")
        }
        if let problem = schema.problem(of: value, at: "body") { throw Problem.malformed(problem) }
        return text
    }

    private func text(_ channel: any Channel, within limit: Duration) async throws -> String {
        if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > API.largestBody {
            throw Problem.tooLarge
        }
        // Each byte would begin the time-out of an idle connection anew.
        let timer = channel.eventLoop.scheduleTask(in: TimeAmount(limit)) { channel.close(promise: nil) }
        defer { timer.cancel() }
        let buffer: ByteBuffer
        do {
            buffer = try await request.body.collect(upTo: API.largestBody)
        } catch is NIOTooManyBytesError {
            throw Problem.tooLarge
        }
        guard let text = String(validating: buffer.readableBytesView, as: UTF8.self), !text.utf8.contains(0) else {
            throw Problem.malformed("body: expected UTF-8, got other bytes")
        }
        return text
    }
}

// MARK: - Parameters
extension RequestReader {
    private func checked(_ texts: [String], _ parameter: Operation.Parameter) throws(Problem) -> String? {
        guard texts.count <= 1 else { throw .malformed("\(parameter.name): expected it once, got several") }
        if let text = texts.first, let problem = problem(of: text, parameter) { throw .malformed(problem) }
        return texts.first
    }

    private func problem(of text: String, _ parameter: Operation.Parameter) -> String? {
        let value: JSONValue =
            if case .integer = parameter.schema, let number = Int64(text) {
                .number(Double(number))
            } else {
                .string(text)
            }
        return parameter.schema.problem(of: value, at: parameter.name)
    }

    private func query() throws(Problem) -> [String: [String]] {
        let known = Set(operation.parameters.filter { $0.location == .query }.map(\.name))
        var values: [String: [String]] = [:]
        for pair in (request.uri.query ?? "").split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map {
                $0.replacing("+", with: " ").removingPercentEncoding
            }
            guard let name = halves[0], known.contains(name), let value = halves.count == 2 ? halves[1] : "" else {
                throw .malformed(
                    "query: expected \(known.isEmpty ? "none" : known.sorted().joined(separator: ", ")), got others")
            }
            values[name, default: []].append(value)
        }
        return values
    }
}
