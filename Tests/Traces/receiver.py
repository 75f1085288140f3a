"""A receiver of OTLP/HTTP that decodes requests by OpenTelemetry's own protobuf definitions (opentelemetry-proto).

It refuses with 400 what they don't allow: an unknown field, a text where a number is expected, a span without an id.
"""

import base64
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest, ExportTraceServiceResponse)

# OTLP's JSON has these bytes in hex, where JSON of protobuf has base64: the only difference.
# https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
IDS = {"traceId": 16, "spanId": 8, "parentSpanId": 8}


def as_protobuf_json(value, key=None):
    """The JSON with each id in base64."""
    if isinstance(value, dict):
        return {name: as_protobuf_json(inner, name) for name, inner in value.items()}
    if isinstance(value, list):
        return [as_protobuf_json(inner) for inner in value]
    if key in IDS and value:
        raw = bytes.fromhex(value)
        if len(raw) != IDS[key] or not any(raw):
            raise ValueError(f"{key}: expected {IDS[key]} bytes that are not all zero, got {value}")
        return base64.b64encode(raw).decode()
    return value


def decode(content_type, body):
    """The request, however it is encoded."""
    if content_type == "application/x-protobuf":
        return ExportTraceServiceRequest.FromString(body)
    if content_type != "application/json":
        raise ValueError(f"content-type: got {content_type}")
    return json_format.ParseDict(as_protobuf_json(json.loads(body)), ExportTraceServiceRequest())


class Receiver:
    """Listens on a free port and keeps what it gets."""

    def __init__(self):
        self.requests, self.refused, self.headers = [], [], []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                try:
                    if self.path != "/v1/traces":
                        raise ValueError(f"path: got {self.path}")
                    receiver.requests.append(decode(self.headers["content-type"], body))
                    receiver.headers.append(dict(self.headers))
                    status = 200
                except (ValueError, json_format.ParseError) as error:
                    receiver.refused.append(f"{error}: {body[:2000]!r}")
                    status = 400
                reply = json_format.MessageToJson(ExportTraceServiceResponse()).encode()
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def spans(self):
        """All spans so far, each with its resource's attributes and its scope's name."""
        return [(span, attributes(of.resource), scope.scope.name)
                for request in list(self.requests) for of in request.resource_spans for scope in of.scope_spans
                for span in scope.spans]


def attributes(message):
    """The attributes of a span, link, event or resource."""
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in message.attributes}
