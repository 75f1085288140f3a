"""Encrypted payloads, which the Swift library reads and writes too. Needs the extra `encryption`."""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Collection
from typing import Any

from .calls import as_json
from .handlers import ENCRYPTED, Permanent
from .middleware import Middleware

_FORM = '{"$enc": 1, "kid", "n", "c"}'


class PayloadKeys:
    """The keys of encrypted payloads, by id: the first one encrypts, and all of them decrypt.

    The text is `id=key`, with commas or line breaks between. A key is the base64 of 32 random bytes, such as those of
    `openssl rand -base64 32`. Raises ValueError for another, which shows nothing of it but its number.
    """

    def __init__(self, text: str) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ImportError:
            raise ImportError(
                "encrypted payloads: expected the package cryptography: pip install 'errand-queue[encryption]'"
            ) from None
        self._ciphers: dict[str, AESGCM] = {}
        entries = [entry.strip() for entry in re.split(r"[,\r\n]", text) if entry.strip()]
        for number, entry in enumerate(entries or [""], 1):
            id, _, encoded = entry.partition("=")
            try:
                key = base64.b64decode(encoded, validate=True)
            except (binascii.Error, ValueError):
                key = b""
            if len(key) != 32 or not re.fullmatch(r"[a-zA-Z0-9._-]{1,40}", id) or id in self._ciphers:
                raise ValueError(f"entry {number}: expected id=key with the base64 of 32 bytes, each id once") from None
            self._ciphers[id] = AESGCM(key)
        self.writing = next(iter(self._ciphers))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> PayloadKeys:
        """The keys of a file, read once."""
        with open(path, encoding="utf-8") as file:
            return cls(file.read())

    @property
    def ids(self) -> list[str]:
        return sorted(self._ciphers)

    def __repr__(self) -> str:
        return f"PayloadKeys({', '.join(self.ids)}, hidden)"

    def seal(self, message: bytes, context: bytes) -> tuple[bytes, bytes]:
        """A random nonce, and the encrypted message."""
        nonce = os.urandom(12)
        return nonce, self._ciphers[self.writing].encrypt(nonce, message, context)

    def open(self, id: str, nonce: bytes, sealed: bytes, context: bytes) -> bytes | None:
        """The message; None if key, context or text is another. Raises KeyError without such a key."""
        from cryptography.exceptions import InvalidTag

        try:
            return self._ciphers[id].decrypt(nonce, sealed, context)
        except (InvalidTag, ValueError):
            return None


class PayloadEncryption(Middleware):
    """Encrypts payloads by AES-256-GCM: only programs with a key read them. A payload belongs to its kind.

        encryption = PayloadEncryption(PayloadKeys(os.environ["ERRAND_PAYLOAD_KEYS"]))
        worker = Worker(middleware=[encryption])
        errand = Errand(url, middleware=[encryption])

    `kinds` are those that are encrypted; None = all. Without `reads_plain`, a job of them whose payload isn't encrypted
    fails for good.
    """

    def __init__(self, keys: PayloadKeys, kinds: Collection[str] | None = None, reads_plain: bool = True) -> None:
        self._keys = keys
        self._kinds = kinds
        self._reads_plain = reads_plain

    def _covers(self, kind: str) -> bool:
        return self._kinds is None or kind in self._kinds

    def encode(self, kind: str, payload: Any) -> Any:
        if not self._covers(kind):
            return payload
        nonce, sealed = self._keys.seal(as_json(payload).encode(), kind.encode())
        return {ENCRYPTED: 1, "kid": self._keys.writing, "n": _text(nonce), "c": _text(sealed)}

    def decode(self, kind: str, payload: Any) -> Any:
        if not isinstance(payload, dict) or ENCRYPTED not in payload:
            if not self._reads_plain and self._covers(kind):
                raise Permanent(f"payload of {kind}: expected an encrypted one, got one that isn't")
            return payload
        try:
            if payload[ENCRYPTED] != 1:
                raise ValueError
            id = str(payload["kid"])[:40]
            nonce, sealed = (base64.b64decode(payload[name], validate=True) for name in ("n", "c"))
        except (KeyError, TypeError, ValueError):
            raise Permanent(f"payload of {kind}: expected {_FORM}, got another form") from None
        try:
            message = self._keys.open(id, nonce, sealed, kind.encode())
        except KeyError:
            raise Permanent(f"payload of {kind}: expected a key that this worker has, got '{id}'") from None
        if message is None:
            raise Permanent(
                f"payload of {kind} can't be decrypted: expected one that key '{id}' has encrypted for this kind, "
                "got another key's, another kind's or a changed text"
            )
        return json.loads(message)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
