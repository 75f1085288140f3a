import Foundation

/// What surrounds each page.
struct Layout {
    struct Section {
        let name: String
        let path: String
        let isCurrent: Bool
    }

    /// What an action did.
    struct Notice {
        let text: String
        let isError: Bool
    }

    let title: String
    let sections: [Section]
    let version: String
    let person: String?
    let hasSession: Bool
    /// Whether a log-in is set up and the caller has none.
    let isReadOnly: Bool
    var canAct = false
    var seesContent = false
    let formToken: String
    var database: String?
    /// The name of the database among several.
    let cell: String?
    var time: ShownTime?
    var notice: Notice?
    /// Whether the script refreshes the page.
    var isLive = false
    /// Whether browsers send the page's origin with its form.
    var sendsOrigin = false

    init(title: String, section: String?, caller: Caller, dashboard: Dashboard) {
        self.title = title
        let all = if case .all = dashboard.scope { [("Cells", "/")] } else { Self.all }
        sections = all.map { Section(name: $0.0, path: $0.1, isCurrent: $0.0 == section) }
        cell = dashboard.scope.cell
        version = dashboard.version
        person = caller.person
        hasSession = caller.session != nil
        isReadOnly = !dashboard.access.rules.isLoginSetUp
        formToken = caller.formToken ?? ""
    }

    private static let all = [
        ("Overview", "/"), ("Jobs", "/jobs"), ("Batches", "/batches"), ("Failures", "/failures"),
        ("Schedules", "/schedules"),
        ("Workers", "/workers"), ("Limits", "/limits"), ("Audit", "/audit"),
    ]
}

/// What a template gets.
struct PageView<Page> {
    let layout: Layout
    let page: Page
}

struct ProblemView {
    let title: String
    let detail: String
    let request: String
}

extension Dashboard {
    /// Renders a page with what surrounds it.
    func page<Page>(
        _ template: String, _ title: String, section: String, _ visit: Visit, _ results: Results, isLive: Bool = false,
        _ page: Page
    ) -> Reply {
        var layout = Layout(title: title, section: section, caller: visit.caller, dashboard: self)
        layout.canAct = results.isOperator
        layout.seesContent = results.isOperator
        layout.database = results.databaseName
        layout.time = ShownTime(Moment(results.now), now: results.now)
        layout.isLive = isLive
        layout.notice = visit.query["done"].flatMap(Notices.text).map { Layout.Notice(text: $0, isError: false) }
        return .html(templates.render(template, PageView(layout: layout, page: page)))
    }
}

/// What the page says after an action. The address only has its code, so no link can put words here.
enum Notices {
    private static let texts = [
        "retry": "The job waits to run again.", "cancel": "The job is cancelled.", "discard": "The job is discarded.",
        "reschedule": "The job has another time or priority.", "edit": "The payload is replaced.",
        "edit-retry": "The payload is replaced, and the job waits to run again.",
        "approve": "The signal is sent. What waited for it goes on.",
        "unchanged": "Nothing changed: the job is in another state by now.", "pause": "It is paused.",
        "resume": "It goes on.", "run": "A job of the schedule is enqueued.",
        "drain": "The worker claims nothing more. What it runs goes on.", "undrain": "The worker claims again.",
        "open": "The circuit is open: its jobs park.", "close": "The circuit is closed: its jobs are released.",
        "limit": "The limit is set.", "no-limit": "The limit is removed.", "rate": "The rate is set.",
        "no-rate": "The rate is removed.", "pause-kind": "The kind is paused: its jobs park.",
        "key-rate": "The rate of the key is set.", "no-key-rate": "The rate of the key is removed.",
        "undo-none": "Nothing is as the action had left it: nothing changed.",
        "resume-kind": "The kind runs again: its jobs are released.", "none": "No job matches any more.",
        "bulk": "The jobs are given up in the background.",
        "bulk-stop": "The bulk action is stopped. What it has changed stays changed.",
    ]

    /// `retry`, or `retried-17` for a number of jobs.
    static func text(_ code: String) -> String? {
        if let text = texts[code] { return text }
        let parts = code.split(separator: "-", maxSplits: 1)
        guard parts.count == 2, let jobs = Int(parts[1]), jobs > 0 else { return nil }
        let number = jobs == 1 ? "One job" : "\(Amount.count(jobs)) jobs"
        switch parts[0] {
        case "undone": return jobs == 1 ? "One change is taken back." : "\(Amount.count(jobs)) changes are taken back."
        case "cancelled": return number + (jobs == 1 ? " is cancelled." : " are cancelled.")
        case "retried": return number + (jobs == 1 ? " waits to run again." : " wait to run again.")
        case "discarded": return number + (jobs == 1 ? " is discarded." : " are discarded.")
        default: return nil
        }
    }
}
