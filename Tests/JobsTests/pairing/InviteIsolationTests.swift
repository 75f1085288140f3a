import Testing

@Suite("Isolation levels of invites") struct InviteIsolationTests {
    @Test(
        "P2: no limit is broken by a transaction with an older snapshot: it is told, or fails with 40001",
        arguments: Race.levels)
    func race(level: String) async throws { try await Race.run(Self.races, at: level, reading: "pairing.person") }

    private static let races = [
        Race(
            "wrong codes of one user", given: (1...9).map { _ in redeemWrong }, redeemWrong, redeemWrong,
            "too_many_tries", holds: "(select wrong_tries from pairing.person where user_id = 'eve') = 10"),
        Race(
            "one code, redeemed twice", given: [invite], redeem(1, by: "ben"), redeem(1, by: "carl"), "already_used",
            holds: "(select count(*) from pairing.pair) = 1 and \(noStaleInvite)"),
        Race(
            "two codes of one user", given: [invite, invite], redeem(1, by: "ben"), redeem(2, by: "carl"), "withdrawn",
            holds: "(select count(*) from pairing.pair) = 1 and \(noStaleInvite)"),
        Race(
            "a code of a user who is in a pair", given: [invite], redeem(1, by: "ben"), invite, "ER409",
            holds: noStaleInvite),
        Race(
            "a code that is made while another is redeemed", given: [invite], invite, redeem(1, by: "ben"), "paired",
            holds: noStaleInvite),
    ]

    private static let redeemWrong = "select status from pairing.redeem_invite('AAAAAA', 'eve')"

    private static let invite = "select code from pairing.create_invite('anna')"

    /// Redeems the code that anna has made as her first, second and so on.
    private static func redeem(_ number: Int, by user: String) -> String {
        """
        select status from pairing.redeem_invite(
            (select code from pairing.invite where inviter = 'anna' order by id limit 1 offset \(number - 1)), '\(user)')
        """
    }

    private static let noStaleInvite = """
        not exists (
            select from pairing.invite join pairing.person on user_id = inviter
            where state = 'live' and pair_id is not null)
        """
}
