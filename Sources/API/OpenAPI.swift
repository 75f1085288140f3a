import Errand
import HTTPTypes

/// The OpenAPI 3.1 document of the operations.
struct OpenAPI {
    let operations: [Operation]
    let version: String

    /// As a response has it.
    var json: [UInt8] { document.sortedJSON }

    private var document: JSONValue {
        [
            "openapi": "3.1.0",
            "info": [
                "title": "Errand", "version": .string(version),
                "description": """
                A job queue on PostgreSQL. A job that is enqueued here is outside of the caller's transaction.
                """,
                "license": ["name": "Apache 2.0", "identifier": "Apache-2.0"],
            ],
            "servers": [["url": "/"]],
            "paths": .object(paths),
            "components": [
                "schemas": .object(schemas),
                "securitySchemes": [
                    "token": [
                        "type": "http", "scheme": "bearer", "description": "What `errand token put` has printed.",
                    ]
                ],
            ],
        ]
    }

    private var paths: [String: JSONValue] {
        Dictionary(grouping: operations, by: \.path).mapValues { operations in
            .object(
                Dictionary(uniqueKeysWithValues: operations.map { ($0.method.rawValue.lowercased(), item(of: $0)) }))
        }
    }

    private var schemas: [String: JSONValue] {
        operations.reduce(into: Problem.schema.named) { schemas, operation in
            for schema in [operation.body] + operation.successes.map(\.schema) {
                schemas.merge(schema?.named ?? [:]) { $1 }
            }
        }
    }

    private func item(of operation: Operation) -> JSONValue {
        var item: [String: JSONValue] = [
            "operationId": .string(operation.id), "summary": .string(operation.summary),
            "description": .string(operation.description),
            "security": operation.needsToken ? [["token": []]] : [],
            "responses": .object(responses(of: operation)),
        ]
        if !operation.parameters.isEmpty {
            item["parameters"] = .array(
                operation.parameters.map { parameter in
                    [
                        "in": .string(parameter.location.rawValue), "name": .string(parameter.name),
                        "required": .bool(parameter.location == .path), "schema": parameter.schema.document,
                        "description": .string(parameter.description),
                    ]
                })
        }
        if let body = operation.body {
            item["requestBody"] = [
                "required": true, "content": ["application/json": ["schema": body.document]],
            ]
        }
        return .object(item)
    }

    private func responses(of operation: Operation) -> [String: JSONValue] {
        var responses: [String: JSONValue] = ["default": Self.problem("Another problem.")]
        for status in operation.problems + (operation.needsToken ? [.unauthorized] : []) {
            responses["\(status.code)"] = Self.problem(Problem.title(of: status) + ".")
        }
        for success in operation.successes {
            var response: [String: JSONValue] = ["description": .string(success.description)]
            if let schema = success.schema {
                response["content"] = ["application/json": ["schema": schema.document]]
            }
            if success.hasLocation {
                response["headers"] = [
                    "Location": ["description": "Its path.", "schema": ["type": "string"]]
                ]
            }
            responses["\(success.status.code)"] = .object(response)
        }
        return responses
    }

    private static func problem(_ description: String) -> JSONValue {
        [
            "description": .string(description),
            "content": ["application/problem+json": ["schema": Problem.schema.document]],
        ]
    }
}

extension Operation {
    /// The document itself. It needs no token: it says nothing of the queue.
    static func document(_ json: [UInt8]) -> Operation {
        Operation(
            id: "readDocument", method: .get, path: "/v1/openapi.json", summary: "See this document",
            description: "The OpenAPI 3.1 document, which the requests are checked against.", needsToken: false,
            successes: [Success(status: .ok, description: "The document.", schema: .any)]
        ) { _ in Reply(status: .ok, json: json) }
    }
}
