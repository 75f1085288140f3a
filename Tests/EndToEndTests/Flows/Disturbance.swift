import Postgres

/// What comes between a flow's call and its effect.
enum Disturbance: String, CaseIterable, Sendable {
    case nothing
    case disconnect
    case eraseSender = "erase sender"
    case eraseReceiver = "erase receiver"
    case delete
    case rename
    case unsubscribe
    case purge
    case revealMoved = "reveal moved"
    case revealTakenBack = "reveal taken back"
    case leave
    case exclude
    case deviceMoved = "device moved"
    case deviceRemoved = "device removed"
    case storeDown = "store down"
    case deniedRead = "denies get"
    case deniedWrite = "denies put"
    case deniedDelete = "denies delete"
    case pushesDown = "APNs, FCM down"
    case kill = "kill -9"
    case restart

    /// Whether it is a call of an app, which makes pushes untrue when it commits.
    var isCall: Bool { calls(.init(number: 0), delete: "") != nil }

    /// Whether it removes rows that a job may work on.
    var removesData: Bool { [.disconnect, .eraseSender, .eraseReceiver, .delete, .purge].contains(self) }
    var endsPair: Bool { [.disconnect, .eraseSender, .eraseReceiver].contains(self) }
    var endsEvent: Bool { [.eraseSender, .purge].contains(self) }
    /// Ben hears nothing of the event any more.
    var leavesEvent: Bool { endsEvent || [.eraseReceiver, .leave, .exclude].contains(self) }
    /// Ben's phones are not his.
    var losesDevices: Bool { [.eraseReceiver, .deviceMoved, .deviceRemoved].contains(self) }

    /// The calls, in one transaction; nil if it happens to the services or the worker.
    ///
    /// - Parameter delete: the calls that take the flow's effect back.
    func calls(_ cast: Cast, delete: String) -> String? {
        let event = "'\(cast.event)'::uuid"
        return switch self {
        case .nothing, .storeDown, .deniedRead, .deniedWrite, .deniedDelete, .pushesDown, .kill, .restart: nil
        case .disconnect: "select pairing.disconnect('\(cast.anna)')"
        case .eraseSender: "select people.erase('\(cast.anna)')"
        case .eraseReceiver: "select people.erase('\(cast.ben)')"
        case .delete: delete
        case .rename: "select people.rename('\(cast.anna)', 'Anne')"
        case .unsubscribe: "select quotes.unsubscribe('\(cast.ben)')"
        case .purge:
            """
            update events.event
            set starts_at = starts_at - interval '17 days', ends_at = ends_at - interval '17 days'
            where id = \(event);
            select events.purge_due_v1();
            select media.enqueue_removals_v1()
            """
        case .revealMoved: "select events.edit(\(event), '\(cast.anna)', reveal_at => now() + interval '2 hours')"
        case .revealTakenBack: "select events.edit(\(event), '\(cast.anna)', without_reveal => true)"
        case .leave: "select events.leave(\(event), '\(cast.ben)', true)"
        case .exclude: "select events.exclude(\(event), '\(cast.anna)', '\(cast.ben)', true)"
        case .deviceMoved:
            """
            select devices.register('\(cast.carl)', 'apns', '\(cast.apple)');
            select devices.register('\(cast.carl)', 'fcm', '\(cast.google)')
            """
        case .deviceRemoved: "select devices.unregister('\(cast.apple)'); select devices.unregister('\(cast.google)')"
        }
    }
}
