"""Metrics, and a probe for orchestrators."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Metrics:
    """Attempts by kind and outcome since the start."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._attempts: dict[tuple[str, str], tuple[int, float]] = {}

    def add(self, kind: str, outcome: str, seconds: float) -> None:
        with self._lock:
            count, total = self._attempts.get((kind, outcome), (0, 0.0))
            self._attempts[kind, outcome] = (count + 1, total + seconds)

    def text(self, running: int) -> str:
        with self._lock:
            attempts = dict(self._attempts)
        lines = [
            "# HELP errand_client_attempts_total Attempts that have ended.",
            "# TYPE errand_client_attempts_total counter",
        ]
        for (kind, outcome), (count, _) in sorted(attempts.items()):
            lines.append(f'errand_client_attempts_total{{kind="{kind}",outcome="{outcome}"}} {count}')
        lines += [
            "# HELP errand_client_run_seconds_total Time that handlers took.",
            "# TYPE errand_client_run_seconds_total counter",
        ]
        for (kind, outcome), (_, total) in sorted(attempts.items()):
            lines.append(f'errand_client_run_seconds_total{{kind="{kind}",outcome="{outcome}"}} {total:.6f}')
        lines += [
            "# HELP errand_client_running Attempts that run now.",
            "# TYPE errand_client_running gauge",
            f"errand_client_running {running}",
        ]
        return "\n".join(lines) + "\n"


def serve(
    host: str, port: int, metrics: Callable[[], str], is_healthy: Callable[[], bool]
) -> ThreadingHTTPServer:
    """Serves /metrics and /health. /health is 503 once the lease is over."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match self.path:
                case "/metrics":
                    self._reply(200, metrics())
                case "/health":
                    self._reply(200, "ok\n") if is_healthy() else self._reply(503, "no contact to the database\n")
                case _:
                    self._reply(404, "expected /metrics or /health\n")

        def _reply(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer((host, port), Handler)
    threading.Thread(target=server.serve_forever, name="errand-probe", daemon=True).start()
    return server
