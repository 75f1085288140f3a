import ArgumentParser
import Dashboard
import Foundation

struct WebPassword: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "password",
        abstract: "Make the setting for a person who logs in to the page: reads a password from standard input.",
        discussion: """
            errand web password alice < password.txt

            Prints `alice=` with the password's scrypt hash, for ERRAND_WEB_PASSWORDS; a comma separates several people. \
            The password is the first line, at least 12 characters. Needs no database.
            """)

    @Argument(help: "The person's name: letters, digits and . _ @ -")
    var name: String

    func validate() throws {
        guard isPerson(name) else {
            throw ValidationError("name: expected up to 100 letters, digits and . _ @ -, got '\(name.printable)'")
        }
    }

    func run() throws {
        if isatty(STDIN_FILENO) == 1 { writeError("Password (it is shown as you type; a file or a pipe avoids that):") }
        let password = readLine(strippingNewline: true) ?? ""
        guard (12...1000).contains(password.count) else {
            throw ValidationError("standard input: expected a password of 12 to 1000 characters, got \(password.count)")
        }
        print("\(name)=\(try PasswordHash(hashing: password))")
    }
}
