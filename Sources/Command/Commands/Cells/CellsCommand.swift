import ArgumentParser
import EngineSchema
import FrontSchema
import Postgres

/// `errand cells …`: a front database for many cells, made by PL/Proxy.
struct CellsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cells",
        abstract: "One front for many databases: make it, add and drain cells, move jobs between them.",
        discussion: """
            export DATABASE_URL=postgresql://postgres@localhost/front
            export ERRAND_CELL_URL=postgresql://errand:secret@db1/errand
            errand cells front && errand cells add
            errand cells list

            DATABASE_URL is the front's database, with a user who may create functions in the language plproxy (a \
            superuser). The cells are migrated by `errand migrate --cell N`.
            """,
        subcommands: [
            FrontCommand.self, AddCell.self, MapLogin.self, ListCells.self, DrainCell.self, DropCell.self,
            MoveJobs.self,
        ])

    /// Runs `body` with a connection to the front, whose schema is there.
    @discardableResult
    static func withFront<T: Sendable>(
        _ environment: Environment, _ body: (Connection) async throws -> T
    ) async throws -> T {
        try await environment.withConnection(needsSchema: false) { front in
            let isFront = try await front.query("select to_regclass('errand_front.cell') is not null")
            guard try isFront.scalar(Bool.self) else {
                throw Failure(
                    code: Failure.misconfigured, "DATABASE_URL is no front of cells: run `errand cells front` first")
            }
            return try await body(front)
        }
    }
}

struct FrontCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "front",
        abstract: "Make the front in the database of DATABASE_URL, from the cell of ERRAND_CELL_URL; or renew it.",
        discussion: """
            Run it again after each upgrade of the cells. All functions and views are replaced in one transaction.
            """)

    func run() async throws {
        let environment = try Environment.load()
        let script = try await environment.withConnection(to: .cellURL) { cell in
            try await cell.query("select errand_internal.front_script()").column(0, as: String.self)
        }
        try await environment.withConnection(statementTimeout: nil, needsSchema: false) { front in
            let isCell = try await front.query("select to_regclass('errand.job') is not null").scalar(Bool.self)
            guard !isCell else {
                throw Failure(
                    code: Failure.misconfigured,
                    "DATABASE_URL is a cell, which has jobs of its own: a front needs a database of its own")
            }
            try await FrontSchema.migrator(version: EngineSchema.version).run(on: front)
            // One text is one transaction.
            try await front.script(script.joined(separator: ";\n"))
        }
        print("the front has \(script.count) statements of the cell's catalog")
    }
}

struct MapLogin: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "login",
        abstract: "Let a login of the front connect to all cells as the user of ERRAND_CELL_URL.",
        discussion: """
            ERRAND_CELL_URL=postgresql://alice:secret@db1/errand errand cells login alice

            The cells give that user its rights, and their audit names it.
            """)

    @Argument(help: "A login of the front's database, or public for all without one of their own.")
    var login: String

    func run() async throws {
        let environment = try Environment.load()
        let cell = try environment.database(.cellURL)
        try await CellsCommand.withFront(environment) { front in
            try await Self.map(login == "public" ? nil : login, to: cell, on: front)
        }
        print("\(login.printable) connects to the cells as \((cell.user ?? "the server's own user").printable)")
    }

    static func map(_ login: String?, to cell: PostgresConfiguration, on front: Connection) async throws {
        guard let user = cell.user else {
            throw Failure(code: Failure.misconfigured, "ERRAND_CELL_URL: expected a user in it, got none")
        }
        try await front.execute(
            Statement("select errand_front.map_login($1, $2, $3)", [login, user, cell.password]))
    }
}
