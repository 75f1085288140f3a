import Foundation

/// The terminal's keys one by one, without echo, on a screen of its own. Ctrl-C comes as a key.
///
/// ``restore()`` makes the terminal what it was. A signal that ends the process does so too.
struct Keyboard {
    // Written once, before the signal handlers that read it: those can't have a value of their own.
    nonisolated(unsafe) private static var original = termios()

    /// - Returns: nil unless both standard input and output are terminals.
    init?() {
        guard isatty(STDIN_FILENO) == 1, isatty(STDOUT_FILENO) == 1, tcgetattr(STDIN_FILENO, &Self.original) == 0
        else { return nil }
        var raw = Self.original
        raw.c_lflag &= ~tcflag_t(ICANON | ECHO | ISIG)
        tcsetattr(STDIN_FILENO, TCSANOW, &raw)
        Swift.print("\u{1B}[?1049h\u{1B}[?25l", terminator: "")
        for number in [SIGTERM, SIGHUP, SIGQUIT] {
            signal(number) { number in
                Keyboard.putBack()
                _exit(128 + number)
            }
        }
    }

    /// The bytes that have come since the last call.
    func read() -> [UInt8] {
        var ready = pollfd(fd: STDIN_FILENO, events: Int16(POLLIN), revents: 0)
        guard poll(&ready, 1, 0) > 0 else { return [] }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = Glibc.read(STDIN_FILENO, &bytes, bytes.count)
        // The terminal is gone.
        guard count > 0 else { return [4] }
        return Array(bytes.prefix(count))
    }

    func restore() {
        fflush(nil)
        Self.putBack()
    }

    /// Calls only what a signal handler may call.
    private static func putBack() {
        let text: StaticString = "\u{1B}[?25h\u{1B}[?1049l"
        _ = write(STDOUT_FILENO, text.utf8Start, text.utf8CodeUnitCount)
        tcsetattr(STDIN_FILENO, TCSANOW, &original)
    }
}
