import Postgres

/// One committed change of a row that a job consists of, or of a setting that jobs obey, in the order in which the
/// row's locks let them happen.
struct WalkEvent: Sendable {
    enum Relation: String, Sendable { case job, history, failed, limit, rate, queue }
    enum Action: String, Sendable { case insert, update, delete }

    var seq: Int64
    /// When the row was changed, and when the transaction that changed it began; in microseconds.
    var at: Int64
    var began: Int64
    /// The transaction.
    var xid: Int64
    var cause: WalkCause
    var relation: Relation
    var action: Action
    /// The job; 0 for a setting.
    var id: Int64 = 0
    /// The job's state; of one in `errand.failed` it is `failed`.
    var state = ""
    var position: Int64?
    var worker: Int64?
    var attempt = 0
    var maxAttempts = 0
    var crashes = 0
    var priority = 0
    var runAt: Int64 = 0
    var notAfter: Int64?
    /// The job's queue; of a setting what it is for: a queue or a limit's key.
    var queue = ""
    var uniqueKey: String?
    /// The unique key of a job that has it only while it waits.
    var waitingKey: String?
    var limitKey: String?
    var rateKey: String?
    var orderKey: String?
    /// Whether its failure holds up those behind it.
    var blocksOrder = false
    var parkedFor: String?
    /// The jobs that it waits for, or has waited for, and what it does if one of them fails.
    var parents: [Int64] = []
    var ifParentFails: String?
    /// It has the walk's guard: see ``isWanted``.
    var isGuarded = false
    /// The identity of a payload.
    var content: Int64 = 0
    /// Of a limit or a rate: how many; of a pause 0. Nil if nothing is set.
    var most: Int?
    /// Of a rate: the span, in microseconds.
    var per: Int64 = 0
}

extension WalkEvent {
    /// The result of the guard `walk`.
    var isWanted: Bool { !isGuarded || content % 7 != 0 }
    /// The unique key that it has or gets again.
    var key: String? { uniqueKey ?? waitingKey }
    /// Whether it is parked until other jobs have ended.
    var waitsForJobs: Bool { parkedFor?.hasPrefix("job:") == true }
}

/// The author of a change.
enum WalkCause: Hashable, Sendable, CustomStringConvertible {
    /// An operation of a session, by its number and its name.
    case operation(Int64, String)
    /// A transaction of a worker that the walk drives by SQL, and that worker.
    case hand(Int64, worker: Int64)
    /// The program `errand`.
    case program

    /// - Parameter text: what the session has set as `walk.cause`; nothing is the program.
    init(_ text: String) {
        let words = text.split(separator: " ").map(String.init)
        switch words.first {
        case "operation" where words.count == 3: self = .operation(Int64(words[1]) ?? 0, words[2])
        case "hand" where words.count == 3: self = .hand(Int64(words[1]) ?? 0, worker: Int64(words[2]) ?? 0)
        default: self = .program
        }
    }

    var description: String {
        switch self {
        case .operation(let number, let name): "operation \(number) \(name)"
        case .hand(let number, let worker): "hand \(number) \(worker)"
        case .program: "errand"
        }
    }

    /// The name of the operation; nil if it was a worker.
    var operation: String? {
        if case .operation(_, let name) = self { name } else { nil }
    }

    /// Its number in `walk.done`.
    var number: Int64? {
        switch self {
        case .operation(let number, _), .hand(let number, _): number
        case .program: nil
        }
    }
}

extension WalkEvent: CustomStringConvertible {
    /// One line of a job's history.
    var description: String {
        var words = "\(seconds(at)) \(cause): \(action.rawValue) \(relation.rawValue) \(state)"
        if let position { words += " position=\(position)" }
        if let worker { words += " worker=\(worker)" }
        words += " attempt=\(attempt)/\(maxAttempts) crashes=\(crashes) priority=\(priority) queue=\(queue)"
        words += " run_at=\(seconds(runAt))"
        if let notAfter { words += " not_after=\(seconds(notAfter))" }
        if let uniqueKey { words += " key=\(uniqueKey)" }
        if let waitingKey { words += " waiting_key=\(waitingKey)" }
        if let limitKey { words += " limit=\(limitKey)" }
        if let rateKey { words += " rate=\(rateKey)" }
        if let orderKey { words += " order=\(orderKey)\(blocksOrder ? " blocks" : "")" }
        if let parkedFor { words += " parked_for=\(parkedFor)" }
        if let ifParentFails { words += " after=\(parents) if_parent_fails=\(ifParentFails)" }
        return words + " content=\(content) (began \(seconds(began)), transaction \(xid))"
    }

    /// Seconds within the hour.
    private func seconds(_ moment: Int64) -> String {
        let milliseconds = moment / 1000 % 3_600_000
        return "\(milliseconds / 1000).\("00\(milliseconds % 1000)".suffix(3))"
    }
}

/// The tables and triggers that record every committed change, and the query that reads them.
enum WalkLog {
    static let schema = """
        create schema walk;
        create sequence walk.number;
        create table walk.event (
            seq bigint not null default nextval('walk.number'), at timestamptz not null default clock_timestamp(),
            began timestamptz not null default now(), xid bigint not null default pg_current_xact_id()::text::bigint,
            cause text not null default coalesce(current_setting('walk.cause', true), ''),
            relation text not null, action text not null, row jsonb not null);
        create function walk.is_wanted(payload jsonb) returns boolean
        language sql stable security definer set search_path = pg_catalog as $$
            select (payload ->> 'content')::int8 % 7 <> 0
        $$;
        grant usage on schema walk to public;
        select errand.put_guard('walk', 'walk.is_wanted');
        create table walk.done (number bigint primary key, words text not null, results jsonb);
        create function walk.record() returns trigger
        language plpgsql security definer set search_path = pg_catalog as $$
        declare
            changed jsonb := case when tg_op = 'DELETE' then to_jsonb(old) else to_jsonb(new) end;
        begin
            if changed ->> 'payload_day' is not null then
                changed := changed || jsonb_build_object('payload', (
                    select payload - 'text'
                    from errand.payload
                    where day = (changed ->> 'payload_day')::date and job_id = (changed ->> 'id')::int8));
            end if;
            insert into walk.event (relation, action, row) values (tg_argv[0], lower(tg_op), changed);
            return null;
        end
        $$;
        do $$
        declare
            relation text;
        begin
            foreach relation in array '{job,history,failed,limit,rate,queue}'::text[] loop
                execute format(
                    'create trigger walk_%1$s after insert or update or delete on errand.%1$s
                    for each row execute function walk.record(%1$L)', relation);
            end loop;
        end
        $$;
        """

    private static func moment(_ expression: String) -> String {
        "(extract(epoch from \(expression)) * 1000000)::int8"
    }

    /// All events, oldest first.
    static func events(in database: Database) async throws -> [WalkEvent] {
        let rows = try await database.query(
            Statement(
                """
                select seq, \(moment("at")), \(moment("began")), xid, cause, relation, action,
                    coalesce((row ->> 'id')::int8, 0),
                    case when relation = 'failed' then 'failed' else coalesce(row ->> 'state', '') end,
                    (row ->> 'queue_position')::int8, (row ->> 'worker_id')::int8,
                    (row ->> 'attempt')::int8, (row ->> 'max_attempts')::int8, (row ->> 'crashes')::int8,
                    (row ->> 'priority')::int8,
                    \(moment("(row ->> 'run_at')::timestamptz")), \(moment("(row ->> 'not_after')::timestamptz")),
                    coalesce(row ->> 'queue', row ->> 'name', row ->> 'limit_key', ''), row ->> 'unique_key',
                    row ->> 'waiting_key', row ->> 'limit_key', row ->> 'rate_key', row #>> '{options,order_key}',
                    coalesce(row #>> '{options,if_head_fails}' = 'block', false), row ->> 'parked_for',
                    array(select jsonb_array_elements_text(row #> '{options,after}')::int8),
                    row #>> '{options,if_parent_fails}', row ->> 'guard' is not null,
                    coalesce((row -> 'payload' ->> 'content')::int8, 0),
                    case
                        when action = 'delete' then null
                        when relation = 'queue' and row ->> 'paused_at' is not null then 0
                        else coalesce(row ->> 'max_running', row ->> 'allowed')::int8
                    end,
                    coalesce(\(moment("(row ->> 'per')::interval")), 0)
                from walk.event
                order by seq
                """))
        return try rows.map { row in
            let (
                seq, at, began, xid, cause, relation, action, id, state, position, worker, attempt, maxAttempts,
                crashes,
                priority, runAt, notAfter, queue, key, waitingKey, limit, rateKey, orderKey, blocksOrder, parked,
                parents, ifParentFails, isGuarded, content, most, per
            ) = try row.decode(
                Int64.self, Int64.self, Int64.self, Int64.self, String.self, String.self, String.self, Int64.self,
                String.self, Int64?.self, Int64?.self, Int?.self, Int?.self, Int?.self, Int?.self, Int64?.self,
                Int64?.self, String.self, String?.self, String?.self, String?.self, String?.self, String?.self,
                Bool.self, String?.self, [Int64].self, String?.self, Bool.self, Int64.self, Int?.self, Int64.self)
            return WalkEvent(
                seq: seq, at: at, began: began, xid: xid, cause: WalkCause(cause), relation: .init(rawValue: relation)!,
                action: .init(rawValue: action)!, id: id, state: state, position: position, worker: worker,
                attempt: attempt ?? 0, maxAttempts: maxAttempts ?? 0, crashes: crashes ?? 0, priority: priority ?? 0,
                runAt: runAt ?? 0, notAfter: notAfter, queue: queue, uniqueKey: key, waitingKey: waitingKey,
                limitKey: limit, rateKey: rateKey, orderKey: orderKey, blocksOrder: blocksOrder, parkedFor: parked,
                parents: parents, ifParentFails: ifParentFails, isGuarded: isGuarded,
                content: content, most: most, per: per)
        }
    }
}
