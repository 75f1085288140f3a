"""The server that docs/endpoints.md begins with refuses what no worker has signed for it, and does no job twice."""

import base64
import hmac
import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

NEW, OLD, OTHER = (bytes([number]) * 32 for number in (1, 2, 3))
BODY = b'{"to": "ann@example.com"}'
NOW = 1_800_000_000


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    secrets = " ".join("whsec_" + base64.b64encode(secret).decode() for secret in (NEW, OLD))
    monkeypatch.setenv("SECRETS", secrets)
    path = Path(__file__).parents[3] / "Examples/http/receiver.py"
    spec = importlib.util.spec_from_file_location("receiver", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def signature(secret: bytes, id: str = "job_1", stamp: object = NOW, body: bytes = BODY) -> str:
    signed = f"{id}.{stamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()


def request(signed: str, **changes: str) -> dict[str, str]:
    headers = {"webhook-id": "job_1", "webhook-timestamp": str(NOW), "webhook-signature": signed}
    return {**headers, **{name.replace("_", "-"): value for name, value in changes.items()}}


@pytest.mark.parametrize("signed", [
    signature(NEW), signature(OLD), f"{signature(NEW)} {signature(OLD)}", f"v2,x {signature(OTHER)} {signature(NEW)}",
])
def test_what_a_worker_has_signed_is_accepted(receiver: ModuleType, signed: str) -> None:
    for now in (NOW - 300, NOW, NOW + 300):
        assert receiver.verify(request(signed), BODY, now) == "job_1"


GOOD = signature(NEW)


@pytest.mark.parametrize(("headers", "body", "now"), [
    pytest.param(request(signature(OTHER)), BODY, NOW, id="another secret"),
    pytest.param(request(GOOD), BODY.replace(b"ann", b"eve"), NOW, id="another body"),
    pytest.param(request(GOOD), b"", NOW, id="no body"),
    pytest.param(request(GOOD, webhook_id="job_2"), BODY, NOW, id="another job"),
    pytest.param(request(GOOD, webhook_id=""), BODY, NOW, id="no job"),
    pytest.param(request(GOOD), BODY, NOW + 301, id="replayed after 5 minutes"),
    pytest.param(request(GOOD), BODY, NOW - 301, id="from the future"),
    pytest.param(request(GOOD, webhook_timestamp=str(NOW + 301)), BODY, NOW + 301, id="replayed with a new time"),
    pytest.param(request(GOOD, webhook_timestamp=f"{NOW}.0"), BODY, NOW, id="a time that is no number"),
    pytest.param(request(GOOD, webhook_timestamp=f"-{NOW}"), BODY, NOW, id="a negative time"),
    pytest.param(request(GOOD, webhook_timestamp="²"), BODY, NOW, id="a digit that is none"),
    pytest.param(request(GOOD, webhook_timestamp=""), BODY, NOW, id="no time"),
    pytest.param(request(""), BODY, NOW, id="no signature"),
    pytest.param(request("v1,"), BODY, NOW, id="an empty signature"),
    pytest.param(request(GOOD[:-1]), BODY, NOW, id="a part of the signature"),
    pytest.param(request(GOOD.replace("v1,", "v2,")), BODY, NOW, id="another version"),
    pytest.param(request(GOOD.replace("v1,", "v1,é")), BODY, NOW, id="letters that are not ASCII"),
    pytest.param(
        request(signature(NEW, "job_1.1", stamp="", body=b"")), BODY, NOW, id="another split of what is signed"),
])
def test_what_no_worker_has_signed_for_it_is_refused(
    receiver: ModuleType, headers: dict[str, str], body: bytes, now: int,
) -> None:
    with pytest.raises(receiver.Refused) as refused:
        receiver.verify(headers, body, now)
    assert refused.value.status == 401


def test_a_replay_gets_the_first_reply_and_does_no_job(receiver: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[dict[str, str]] = []

    def send(mail: dict[str, str]) -> dict[str, int]:
        done.append(mail)
        # While it is being done, another attempt is told to come back.
        with pytest.raises(receiver.Refused) as refused:
            receiver.once("job_1", {}, BODY)
        assert refused.value.status == 425
        return {"sent": len(done)}

    monkeypatch.setattr(receiver, "send_mail", send)
    replies = [receiver.once("job_1", {}, BODY) for _ in range(3)]
    assert replies == [(200, {"sent": 1})] * 3
    assert len(done) == 1
