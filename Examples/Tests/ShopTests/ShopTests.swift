import Errand
import ErrandTestKit
import Foundation
import Shop
import Testing

@Suite("Shop") struct ShopTests {
    @Test("an order is charged immediately, and its receipt follows a minute later")
    func order() async throws {
        let mail = MailBox()
        let handlers: [any JobHandler] = [SendReceiptHandler(mail: mail), ChargeCustomerHandler()]
        try await withTestQueue(handlers, schema: Shop.schema) { test in
            try await test.database.execute("insert into public.balance values ('anna', 5000)")

            let order = try await Shop(database: test.database).order(customer: "anna", cents: 1990)
            try await test.expectEnqueued(ChargeCustomer(order: order), .unique("charge/\(order)"))
            try await test.expectEnqueued(SendReceipt(order: order), .after(.seconds(60)), .queue("mail"))

            let drained = try await test.drain()
            #expect(drained.attempts.map(\.kind) == [ChargeCustomer.kind])
            #expect(await mail.sent.isEmpty)

            try await test.advance(by: .seconds(60))
            #expect(try await test.drain().outcomes == [.succeeded])
            #expect(await mail.sent == ["anna: 1990"])
        }
    }

    @Test("an order that can't be charged is removed")
    func tooLow() async throws {
        try await withTestQueue([ChargeCustomerHandler()], schema: Shop.schema) { test in
            try await test.database.execute("insert into public.balance values ('anna', 5)")
            try await Shop(database: test.database).order(customer: "anna", cents: 1990)
            #expect(try await test.drain().outcomes == [.failed, .succeeded])
            #expect(try await test.database.query("select from public.orders").isEmpty)
        }
    }

    @Test("an order that can't be written leaves no job")
    func rollBack() async throws {
        try await withTestQueue(schema: Shop.schema) { test in
            let shop = Shop(database: test.database)
            await #expect(throws: PostgresError.self) { try await shop.order(customer: "anna", cents: .max) }
            try await test.expectNotEnqueued(ChargeCustomer.self)
        }
    }

    @Test("a receipt waits while the mail server is down, and fails immediately for an unknown address")
    func mailServer() async throws {
        let mail = MailBox()
        try await withTestQueue(schema: Shop.schema) { test in
            let order = UUID()
            try await test.database.execute(
                Statement("insert into public.orders values ($1, 'nobody', 100, now())", [order]))

            await mail.fail(with: .unreachable)
            let down = try await test.run(SendReceiptHandler(mail: mail), SendReceipt(order: order))
            #expect(down.outcome == .unavailable("mail_server", reason: "no connection"))

            await mail.fail(with: .noSuchAddress("nobody"))
            let nowhere = try await test.run(SendReceiptHandler(mail: mail), SendReceipt(order: order))
            #expect(nowhere.attemptOutcome == .failed)
        }
    }

    @Test("a customer who has paid by then gets no reminder")
    func reminder() async throws {
        let handlers: [any JobHandler] = [ChargeCustomerHandler(), ReminderHandler { _ in }]
        try await withTestQueue(handlers, schema: Shop.schema) { test in
            try await test.database.execute("insert into public.balance values ('anna', 5000)")
            let shop = Shop(database: test.database)
            let order = try await shop.order(customer: "anna", cents: 1990)
            try await shop.remind(of: order)
            try await test.drain()
            try await test.advance(by: .seconds(86_400))
            try await test.drain()
            #expect(try await test.jobs(of: Reminder.self).map(\.state) == ["obsolete"])
        }
    }

    @Test("a refund waits for an approval, and is off if nobody decides")
    func approval() async throws {
        try await withTestQueue([ApproveRefundHandler { _ in }], schema: Shop.schema) { test in
            let order = UUID()
            for order in [order, UUID()] { try await test.queue.enqueue(ApproveRefund(order: order)) }
            try await test.drain()
            let states = try await test.jobs(of: ApproveRefund.self).map(\.state)
            #expect(states == ["parked", "parked"])
            try await test.database.execute(
                Statement("select errand.signal($1, '{\"approved\": true}')", ["approval/\(order)"]))
            try await test.drain()
            try await test.advance(by: .seconds(2 * 86_400))
            try await test.drain()
            let ends = try await test.jobs(of: ApproveRefund.self).map(\.state).sorted()
            #expect(ends == ["cancelled", "succeeded"])
        }
    }

    @Test("the sales of a year are added up once those of its months are there")
    func sales() async throws {
        try await withTestQueue([MonthSalesHandler(), YearSalesHandler()], schema: Shop.schema) { test in
            for month in [1, 5, 12] {
                try await test.database.execute(
                    Statement(
                        "insert into public.orders values (gen_random_uuid(), 'anna', 100, make_date(2026, $1::int4, 3))",
                        [month]))
            }
            let id = try await Shop(database: test.database).addUpSales(of: 2026)
            try await test.drain()
            #expect(try await test.job(id).output?.decode(Int.self) == 300)
        }
    }

    @Test("the receipts of a month are reported once all of them are out")
    func receipts() async throws {
        let handlers: [any JobHandler] = [SendReceiptHandler(mail: MailBox()), ReportReceiptsHandler()]
        try await withTestQueue(handlers, schema: Shop.schema) { test in
            let shop = Shop(database: test.database)
            try await test.database.execute(
                """
                insert into public.orders
                select gen_random_uuid(), name, 100, now() from unnest('{anna,ben}'::text[]) as name
                """)
            let orders = try await test.database.query("select id from public.orders").map { try $0.decode(UUID.self) }
            let batch = try await shop.sendReceipts(of: "May", orders: orders)
            let drained = try await test.drain()
            #expect(drained.attempts(of: ReportReceipts.self).map(\.outcome) == [.succeeded])
            let status = try await test.queue.batchStatus(batch)
            #expect(status.outcome == "succeeded" && status.progress == 1)
        }
    }

    @Test("a van is booked and charged once, however often the job asks for it")
    func ship() async throws {
        let courier = Courier()
        try await withTestQueue([ShipOrderHandler(carrier: courier)], schema: Shop.schema) { test in
            try await test.database.execute("insert into public.balance values ('anna', 5000)")
            let order = try await Shop(database: test.database).order(customer: "anna", cents: 1990)
            try await test.queue.enqueue(ShipOrder(order: order))
            let drained = try await test.drain(within: .seconds(3 * 3600))
            #expect(drained.attempts(of: ShipOrder.self).map(\.outcome) == [.snoozed, .snoozed, .succeeded])
            #expect(await courier.bookings == 1)
            let left = try await test.database.query("select cents from public.balance").scalar(Int.self)
            #expect(left == 4400)
        }
    }

    @Test("an export shows how far it is, and reads payloads of the version before")
    func export() async throws {
        try await withTestQueue([ExportOrdersHandler { _ in }], schema: Shop.schema) { test in
            for cents in 1...3 { try await Shop(database: test.database).order(customer: "anna", cents: cents) }
            let run = try await test.run(ExportOrdersHandler { _ in }, ExportOrders(customer: "anna"))
            #expect(run.progress == 1)
            #expect(run.message == "order 3 of 3")
            #expect(try await test.job(run.id).output?.decode([String: Int].self) == ["orders": 3])

            try await test.database.execute(#"select errand.enqueue('export_orders', '{"customer": "anna"}')"#)
            #expect(try await test.drain().attempts(of: ExportOrders.self).map(\.outcome) == [.succeeded])
        }
    }

    @Test("a clean-up that is stopped is handed back")
    func cleanUp() async throws {
        try await withTestQueue { test in
            let endless = CleanUpHandler { true }
            let run = try await test.run(endless, CleanUp(), interruptedBy: .shutdown)
            #expect(run.attemptOutcome == .released)
            #expect(run.log.count == 1)
        }
    }
}

/// Keeps what it is asked to send, or refuses it.
actor MailBox: MailService {
    private(set) var sent: [String] = []
    private var refusal: MailError?

    func fail(with refusal: MailError?) { self.refusal = refusal }

    func sendReceipt(to customer: String, cents: Int) async throws {
        if let refusal { throw refusal }
        sent.append("\(customer): \(cents)")
    }
}

/// Sends vans, each of which has come when it is asked for the third time.
actor Courier: Carrier {
    private(set) var bookings = 0
    private var questions = 0

    func book(_ order: UUID) async throws -> Shipment {
        bookings += 1
        return Shipment(number: "S\(bookings)", cents: 600)
    }

    func hasPickedUp(_ shipment: Shipment) async throws -> Bool {
        questions += 1
        return questions > 2
    }
}
