import ArgumentParser
import ErrandImages
import Foundation
import Logging

struct CardCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "card", abstract: "Draw a card of a text, as a job does.",
        discussion: """
            errand image card 'Know thyself.' card.jpg --author 'Inscription at Delphi' --template sky --appearance dark

            The text is as large as fits within the card. Scripts and emoji are shown if the host has a font for them, \
            such as those of Debian's fonts-noto-core, fonts-noto-cjk and fonts-noto-color-emoji. Needs no database.
            """)

    @Argument(help: "The text.")
    var text: String

    @Argument(help: "The result, a JPEG.", completion: .file())
    var output: String

    @Option(help: "Who said it, shown below the text.")
    var author = ""

    @Option(help: "paper, sky, blossom or slate.")
    var template = CardRequest.Template.paper

    @Option(help: "light or dark.")
    var appearance = CardRequest.Appearance.light

    @Option(help: "square (1080 x 1080), story (1080 x 1920) or wide (1200 x 630).")
    var format = CardRequest.Format.square

    @Option(help: "The result has fewer bytes than this.")
    var maxBytes = 500_000

    private var card: CardRequest {
        CardRequest(text: text, author: author, template: template, appearance: appearance, format: format)
    }

    private var request: ImageRequest {
        var request = ImageRequest()
        request.maxBytes = maxBytes
        return request
    }

    func validate() throws {
        do {
            try card.check()
            try request.check()
        } catch {
            throw ValidationError(error.detail)
        }
    }

    func run() async throws {
        let environment = try Environment.load()
        let pool = ImageProcessPool(.init(processes: 1), logger: environment.logger)
        do {
            let (report, bytes) = try await pool.card(card, as: request)
            try ImageFile.write(bytes, to: output)
            print("\(output.printable): \(report.bytes) bytes, \(report.width) x \(report.height)")
        } catch let error as ImageError {
            throw Failure(code: Failure.failed, "\(output): \(error)")
        }
        await pool.stop()
    }
}

extension CardRequest.Template: ExpressibleByArgument {}
extension CardRequest.Appearance: ExpressibleByArgument {}
extension CardRequest.Format: ExpressibleByArgument {}
