import ErrandTestKit
import Testing

@Suite("Each flow of quotes with each disturbance") struct QuoteFlowTableTests {
    @Test(
        "E1, E5, M5, M8: whatever comes first, no push after the fact is untrue, and nothing is lost or left over",
        arguments: Hardness.isFull ? [Flow.dailyQuote, .card] : [])
    func table(flow: Flow) async throws { try await FlowTable.run(flow) }
}

extension Flow {
    static let dailyQuote = Flow(
        name: "quote of the day", steps: [.push, .accepted],
        calls: {
            """
            update quotes.subscription
            set next_day = (now() at time zone 'UTC')::date, next_at = now()
            where user_id = '\($0.ben)' and ended_at is null;
            select errand.enqueue('daily_quote')
            """
        },
        delete: { "select quotes.unsubscribe('\($0.ben)')" },
        effect: {
            """
            exists (select from quotes.subscription where user_id = '\($0.ben)' and last_day is not null)
            and \(told("daily_quote", by: "quotes.subscription_of('\($0.ben)')", to: $0))
            """
        }, undoneBy: ["erase receiver", "unsubscribe"])

    static let card = Flow(
        name: "card", steps: [.put, .stored],
        calls: { "select quotes.card(\($0.number % 100 + 1), '\(["paper", "sky", "slate"][$0.number / 100 % 3])')" },
        delete: { "select quotes.put('Know \($0.number).', 'Delphi', 'Wisdom', id => \($0.number % 100 + 1))" },
        effect: {
            "exists (select from quotes.card_status where quote_id = \($0.number % 100 + 1) and state = 'stored')"
        })
}
