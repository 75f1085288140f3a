import Testing

@testable import Command

@Suite("What a terminal shows") struct TerminalTests {
    @Test(
        "colours are only for a terminal that has them, without NO_COLOR",
        arguments: [
            (true, nil, "xterm", true), (true, "", "xterm", true), (true, "1", "xterm", false),
            (false, nil, "xterm", false), (true, nil, "dumb", false), (true, nil, nil, true),
        ] as [(Bool, String?, String?, Bool)])
    func colours(isTerminal: Bool, noColor: String?, terminal: String?, expected: Bool) {
        #expect(Style.isWanted(isTerminal: isTerminal, noColor: noColor, terminal: terminal) == expected)
    }

    @Test("a state has its colour, padded or not, and other words have none")
    func cells() {
        #expect(Style.of("failed  ") == .bad)
        #expect(Style.of("succeeded") == .good)
        #expect(Style.of("parked") == .odd)
        #expect(Style.of("image_compression") == nil)
        #expect(Style.bad.applied(to: "failed", isOn: true) == "\u{1B}[31mfailed\u{1B}[0m")
        #expect(Style.bad.applied(to: "failed", isOn: false) == "failed")
    }

    @Test("a progress bar is filled by its share, and no wider than the terminal")
    func bar() {
        #expect(ProgressBar.line(0, "cancel", width: 60) == "[------------------------]   0 % cancel")
        #expect(ProgressBar.line(0.5, "cancel", width: 60) == "[############------------]  50 % cancel")
        #expect(ProgressBar.line(1, "cancel", width: 60) == "[########################] 100 % cancel")
        #expect(ProgressBar.line(7, "cancel: 1000 jobs", width: 35).count == 35)
        #expect(ProgressBar.line(.nan, "\u{1B}[31m", width: 60) == "[------------------------]   0 % \\u{1b}[31m")
    }

    @Test("a pager scrolls by lines and pages, within its text, and q ends it")
    func scrolls() {
        var pager = Pager(height: 4)
        pager.title = "title"
        pager.lines = (1...10).map { "\($0)" }
        #expect(pager.frame == ["title  lines 1-3 of 10", "1", "2", "3"])
        _ = pager.press(.down)
        #expect(pager.frame == ["title  lines 2-4 of 10", "2", "3", "4"])
        for _ in 1...3 { _ = pager.press(.pageDown) }
        #expect(pager.frame == ["title  lines 8-10 of 10", "8", "9", "10"])
        for key in [Pager.Key.up, .pageUp] { _ = pager.press(key) }
        #expect(pager.frame == ["title  lines 4-6 of 10", "4", "5", "6"])
        for key in [Pager.Key.top, .up] { _ = pager.press(key) }
        #expect(pager.offset == 0)
        _ = pager.press(.bottom)
        #expect(pager.offset == 7)
        pager.lines = ["1"]
        #expect(pager.frame == ["title", "1"], "the text has become shorter")
        let goesOn = pager.press(.quit)
        #expect(!goesOn)
    }

    @Test("keys are those of less, arrows, page keys, q and Ctrl-C")
    func keys() {
        #expect(Pager.keys(in: Array("jk gGbx".utf8)) == [.down, .up, .pageDown, .top, .bottom, .pageUp])
        #expect(
            Pager.keys(in: Array("\u{1B}[A\u{1B}[B\u{1B}[5~\u{1B}[6~".utf8)) == [.up, .down, .pageUp, .pageDown])
        #expect(Pager.keys(in: Array("q".utf8)) == [.quit])
        #expect(Pager.keys(in: [3]) == [.quit])
    }
}
