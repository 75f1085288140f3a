"""A server that handles jobs by HTTP, with Python's standard library alone.

    SECRETS='whsec_…' PORT=9000 python3 receiver.py

SECRETS has the endpoint's secret, and a space and the one before while it is replaced. Put TLS in front of it.
"""

import base64
import hmac
import json
import os
import signal
import sys
import threading
import time
import urllib.request
from collections import OrderedDict
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRETS = [base64.b64decode(text.removeprefix("whsec_")) for text in os.environ["SECRETS"].split()]
TOLERANCE = 300
MOST_BYTES = 300_000


class Refused(Exception):
    """The request isn't from our queue, or not for us."""

    def __init__(self, status, reason):
        super().__init__(reason)
        self.status = status


class NoSuchAddress(Exception):
    """Another attempt would fail, too."""


def verify(headers, body, now):
    """Returns the webhook's id, or raises Refused. Nothing else of a request counts before this."""
    name, stamp = headers.get("webhook-id", ""), headers.get("webhook-timestamp", "")
    if not name or not stamp.isascii() or not stamp.isdigit():
        raise Refused(401, "expected webhook-id and webhook-timestamp")
    # A request that somebody has recorded is of no use to him later.
    if abs(now - int(stamp)) > TOLERANCE:
        raise Refused(401, "expected a webhook-timestamp of the last 5 minutes")
    signed = f"{name}.{stamp}.".encode() + body
    expected = [base64.b64encode(hmac.digest(secret, signed, "sha256")) for secret in SECRETS]
    for entry in headers.get("webhook-signature", "").split(" "):
        version, _, signature = entry.partition(",")
        # As long for a signature that is nearly right as for any other.
        if version == "v1" and any(hmac.compare_digest(signature.encode(), each) for each in expected):
            return name
    raise Refused(401, "expected a valid webhook-signature")


class Seen:
    """What was replied to each webhook-id, so that no job is done twice.

    A server of several processes has this in its database, in the transaction that does the job.
    """

    def __init__(self, most=10_000):
        self.most = most
        self.lock = threading.Lock()
        self.replies = OrderedDict()

    def begin(self, name):
        """Returns the earlier reply; None if the caller has to do the job. Raises Refused while another does."""
        with self.lock:
            if name in self.replies:
                if self.replies[name] is None:
                    raise Refused(425, "this job is being done")
                return self.replies[name]
            self.replies[name] = None
            if len(self.replies) > self.most:
                self.replies.popitem(last=False)
            return None

    def end(self, name, reply):
        """A failure isn't stored: the next attempt may succeed."""
        with self.lock:
            if reply[0] == 200:
                self.replies[name] = reply
            else:
                self.replies.pop(name, None)


SEEN = Seen()


def send_mail(mail):
    """Stands for the call of a mail server. Returns the job's output, or raises."""
    if "@" not in mail["to"]:
        raise NoSuchAddress(f"{mail['to']} is no address")
    return {"sent_to": mail["to"]}


def do(mail):
    """Returns a status and the JSON of the reply. 422 fails the job for good, and 500 has it repeated."""
    if mail.get("type") == "errand.test":
        return 200, {}
    try:
        return 200, send_mail(mail)
    except NoSuchAddress as error:
        return 422, {"error": str(error)}
    except Exception as error:
        return 500, {"error": type(error).__name__}


def do_later(name, url, mail):
    """Completes a job that was accepted. The URL is all the right that this needs: it is as secret as a password."""
    status, value = do(mail)
    SEEN.end(name, (status, value))
    result = {"output": value} if status == 200 else {"error": value["error"], "permanent": status == 422}
    request = urllib.request.Request(
        url, json.dumps(result).encode(), {"content-type": "application/json"}, method="POST")
    urllib.request.urlopen(request, timeout=10).close()


def once(name, headers, body):
    """Does the job of a verified request, unless it was done before."""
    earlier = SEEN.begin(name)
    if earlier is not None:
        return earlier
    if headers.get("errand-kind") == "send_many_mails":
        threading.Thread(target=do_later, args=(name, headers["errand-callback"], json.loads(body))).start()
        return 202, None
    reply = do(json.loads(body))
    SEEN.end(name, reply)
    return reply


class Receiver(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_POST(self):
        try:
            length = self.headers.get("content-length", "")
            if not length.isdigit() or int(length) > MOST_BYTES:
                self.close_connection = True
                raise Refused(413, f"expected a content-length of at most {MOST_BYTES}")
            body = self.rfile.read(int(length))
            self.reply(*once(verify(self.headers, body, time.time()), self.headers, body))
        except Refused as error:
            self.reply(error.status, {"error": str(error)})

    def reply(self, status, value):
        text = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, format, *arguments):
        """Neither addresses nor paths are logged."""


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    with ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "9000"))), Receiver) as server:
        print("listening on port", server.server_port, flush=True)
        server.serve_forever()
