import Foundation
import HTTPTypes
import Hummingbird
import Logging
import NIOCore
import Postgres
import Web

/// From a request to a response: who sent it, whether they may, what it shows, and what went wrong.
extension Dashboard {
    /// The largest form: a payload of 256 KB, of which each byte may be escaped.
    private static let mostFormBytes = 1 << 20

    func respond(
        _ request: Request, _ context: WebContext, _ show: (Visit) async throws -> Reply
    ) async -> Response {
        let requestID = String(Digest.randomText().prefix(16))
        var caller = Caller()
        do {
            guard access.rules.isLoginSetUp || isNamedHere(request.head.authority) else {
                throw Problem(
                    status: .misdirectedRequest, title: "The page isn't served under this name",
                    detail: "Without a log-in it is served on this host only, as localhost or 127.0.0.1.")
            }
            caller = try identify(request, context)
            let visit = try await visit(request, context, caller, requestID)
            return response(try await show(visit), to: caller, requestID)
        } catch {
            let problem = self.problem(for: error)
            if problem.status == .unauthorized, [.get, .head].contains(request.method) {
                let target =
                    request.uri.path == "/" ? "/log-in" : "/log-in?next=\(Self.encoded(request.uri.description))"
                return response(.redirect(target), to: caller, requestID)
            }
            let level: Logger.Level = problem.status.kind == .serverError ? .warning : .debug
            logger.log(
                level: level, "the page could not reply",
                metadata: [
                    "request": "\(requestID)", "status": "\(problem.status.code)", "path": "\(request.uri.path)",
                    "error": "\((error as? PostgresError)?.sqlState ?? problem.title)",
                ])
            return problemPage(problem, caller, requestID)
        }
    }

    private func identify(_ request: Request, _ context: WebContext) throws(Problem) -> Caller {
        do {
            return try access.caller(request, context)
        } catch {
            throw Self.problem(for: error)
        }
    }

    /// Reads the form, and checks where it is from.
    private func visit(
        _ request: Request, _ context: WebContext, _ caller: Caller, _ requestID: String
    ) async throws -> Visit {
        let path = request.uri.path
        let isOpen = path == scope.base + "/log-in"
        guard caller.isLoggedIn || isOpen || !access.rules.isLoginSetUp else { throw Problem.needsLogIn }
        var form = FormFields("")
        if request.method == .post {
            try checkOrigin(request, caller, hasToken: !isOpen)
            var request = request
            form = FormFields(String(buffer: try await request.collectBody(upTo: Self.mostFormBytes)))
            if !isOpen {
                guard caller.isLoggedIn else { throw Problem.readOnly }
                // A program with a token is no browser: nobody else can make it send one.
                if let token = caller.formToken, !Digest.areEqual(token, form.whole("token")) {
                    throw Problem.foreignForm
                }
            }
        }
        let names = context.parameters.reduce(into: [String: String]()) { $0[String($1.key)] = String($1.value) }
        return Visit(
            caller: caller, query: FormFields(request.uri.query ?? ""), form: form, requestID: requestID,
            address: request.uri.description, parameters: names)
    }

    /// A form comes from this page: browsers say where it was.
    ///
    /// Because of this page's `Referrer-Policy`, they send `Origin: null` with its own forms that have a token, and say
    /// in `Sec-Fetch-Site` whose it was. Over plain HTTP they do the second on this host only. The form of the log-in
    /// has no token, so it has another policy and an `Origin`.
    private func checkOrigin(_ request: Request, _ caller: Caller, hasToken: Bool) throws(Problem) {
        let site = request.headers.only("sec-fetch-site")
        guard [nil, "same-origin", "none"].contains(site) else { throw .foreignForm }
        guard site != "same-origin", let origin = request.headers.only("origin"), origin != "null" || !hasToken else {
            return
        }
        let forwarded = caller.isBehindProxy ? request.headers.last("x-forwarded-host") : nil
        let own = [request.head.authority, forwarded].compactMap(\.self)
        guard own.contains(where: { origin == "http://\($0)" || origin == "https://\($0)" }) else { throw .foreignForm }
    }
}

// MARK: - Replies
extension Dashboard {
    private func response(_ reply: Reply, to caller: Caller, _ requestID: String) -> Response {
        switch reply {
        case .html(let text):
            return Response(
                status: .ok, headers: .ofPage(type: "text/html; charset=utf-8", request: requestID),
                body: .init(byteBuffer: ByteBuffer(string: scope.placed(text))))
        case .redirect(let address):
            return redirect(to: address, requestID)
        case .session(let id, let address):
            var response = redirect(to: address, requestID)
            response.headers[values: .setCookie] = [Self.cookie(id, isSecure: caller.isSecure)]
            return response
        }
    }

    private static func cookie(_ id: String?, isSecure: Bool) -> String {
        "\(Access.cookie)=\(id ?? ""); Path=/; HttpOnly; SameSite=Strict" + (id == nil ? "; Max-Age=0" : "")
            + (isSecure ? "; Secure" : "")
    }

    private func redirect(to address: String, _ requestID: String) -> Response {
        var headers = HTTPFields.ofPage(type: "text/plain; charset=utf-8", request: requestID)
        headers[.location] = scope.placed(address: Self.localAddress(address))
        return Response(status: .seeOther, headers: headers)
    }

    private func problemPage(_ problem: Problem, _ caller: Caller, _ requestID: String) -> Response {
        var headers = HTTPFields.ofPage(type: "text/html; charset=utf-8", request: requestID)
        if let wait = problem.retryAfter { headers[.retryAfter] = "\(max(1, wait.components.seconds + 1))" }
        let view = ProblemView(title: problem.title, detail: problem.detail, request: requestID)
        let layout = Layout(title: problem.title, section: nil, caller: caller, dashboard: self)
        return Response(
            status: problem.status, headers: headers,
            body: .init(
                byteBuffer: ByteBuffer(
                    string: scope.placed(templates.render("problem", PageView(layout: layout, page: view))))))
    }

    private func problem(for error: any Error) -> Problem {
        switch error {
        case let problem as Problem: problem
        case let refusal as Access.Refusal: Self.problem(for: refusal)
        case let error as PostgresError: Self.problem(for: error)
        case let error as any HTTPResponseError where error.status == .contentTooLarge:
            Problem(
                status: .contentTooLarge, title: "The form is too large",
                detail: "A payload has at most 256 KB.")
        default:
            Problem(
                status: .internalServerError, title: "Something went wrong",
                detail: "The log of the process has more, under the request below.")
        }
    }

    private static func problem(for refusal: Access.Refusal) -> Problem {
        switch refusal {
        case .wrong:
            Problem(
                status: .forbidden, title: "That didn't work",
                detail: "The name and the password, or the token, don't match.")
        case .tooSoon(let wait):
            Problem(
                status: .tooManyRequests, title: "Too many failed log-ins",
                detail: "Try again in \(Amount.duration(Double(wait.components.seconds + 1))).", retryAfter: wait)
        }
    }

    /// The server's message names what was expected and what came; it never has SQL.
    private static func problem(for error: PostgresError) -> Problem {
        let state = error.sqlState ?? ""
        let hint = error.hint.map { ". \($0)" } ?? ""
        switch state {
        case "42501":
            return Problem(
                status: .serviceUnavailable, title: "The database user may not do this",
                detail: "Have `grant errand_monitor to …` run for it, and `grant errand_ops to …` for actions.")
        case "3F000", "42P01", "42883", "42704", "42703":
            return Problem(
                status: .serviceUnavailable, title: "The database has another schema",
                detail: "Run `errand migrate` with the version of this program.")
        case "ER404": return Problem(status: .notFound, title: "There is no such thing", detail: error.detail + hint)
        case _ where state.hasPrefix("ER") || state.hasPrefix("22"):
            return Problem(status: .unprocessableContent, title: "That isn't possible", detail: error.detail + hint)
        default:
            return Problem(
                status: .serviceUnavailable, title: "The database doesn't reply",
                detail: "It can't be reached, or takes too long. Reload the page in a moment.")
        }
    }

    /// An address of this server, for a header: another one, or one with odd characters, becomes the first page.
    static func localAddress(_ address: String) -> String {
        let isLocal = address.hasPrefix("/") && !address.hasPrefix("//") && !address.hasPrefix("/\\")
        let isPlain = address.utf8.allSatisfy { (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "\\") }
        return isLocal && isPlain ? address : "/"
    }

    /// A value for a query.
    static func encoded(_ text: String) -> String {
        text.utf8.map { byte in
            let isPlain =
                (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte)
                || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
                || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || "-._~".utf8.contains(byte)
            return isPlain ? String(UnicodeScalar(byte)) : "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16)
        }.joined()
    }
}
