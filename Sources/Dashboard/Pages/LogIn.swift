import Foundation
import Hummingbird
import Logging

/// The form of the log-in.
struct LogInPage {
    let next: String
    let hasPasswords: Bool
    let error: String?
}

extension Dashboard {
    func logInForm(_ visit: Visit) async throws -> Reply {
        let next = Self.localAddress(visit.query["next"] ?? "/")
        guard access.rules.isLoginSetUp, !visit.caller.isLoggedIn else { return .redirect(next) }
        var layout = Layout(title: "Log in", section: nil, caller: visit.caller, dashboard: self)
        layout.sendsOrigin = true
        let view = LogInPage(next: next, hasPasswords: !access.rules.passwords.isEmpty, error: nil)
        return .html(templates.render("log-in", PageView(layout: layout, page: view)))
    }

    func logIn(_ visit: Visit) async throws -> Reply {
        let next = Self.localAddress(visit.form["next"] ?? "/")
        do {
            let (session, person) = try await access.logIn(
                name: visit.form["name"] ?? "", secret: visit.form.whole("password"), from: visit.caller.address)
            logger.info("logged in to the page", metadata: ["person": "\(person)", "request": "\(visit.requestID)"])
            return .session(session, redirect: next)
        } catch {
            logger.notice("a log-in to the page was refused", metadata: ["request": "\(visit.requestID)"])
            throw error
        }
    }

    func logOut(_ visit: Visit) async throws -> Reply {
        if let session = visit.caller.session { access.logOut(session) }
        return .session(nil, redirect: "/log-in")
    }
}
