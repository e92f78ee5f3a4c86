"""A security key and its browser: what they answer to the options of a page, as `navigator.credentials` does."""

import hashlib
import json
import secrets
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import AttestationObject, AttestedCredentialData, AuthenticatorData

FLAG = AuthenticatorData.FLAG


class SecurityKey:
    """One passkey. `origin`, `flags` and `count` may lie."""

    def __init__(self) -> None:
        self.key, self.id = ec.generate_private_key(ec.SECP256R1()), secrets.token_bytes(16)
        self.origin, self.count = "http://localhost:8000", 1
        self.flags = FLAG.UP | FLAG.UV

    def make(self, options: dict[str, Any]) -> str:
        """Answer the options of a registration."""
        public = ES256.from_cryptography_key(self.key.public_key())
        data = AttestedCredentialData.create(b"\0" * 16, self.id, public)
        parts = AuthenticatorData.create(self._site(options["rp"]["id"]), self.flags | FLAG.AT, self.count, data)
        said = self._client("webauthn.create", options)
        made = websafe_encode(AttestationObject.create("none", parts, {}))
        return self._answer({"clientDataJSON": websafe_encode(said), "attestationObject": made})

    def sign(self, options: dict[str, Any]) -> str:
        """Answer the options of a sign-in, and count it."""
        self.count += 1 if self.count else 0
        parts = AuthenticatorData.create(self._site(options["rpId"]), self.flags, self.count)
        said = self._client("webauthn.get", options)
        signature = self.key.sign(parts + hashlib.sha256(said).digest(), ec.ECDSA(SHA256()))
        values = {"clientDataJSON": said, "authenticatorData": parts, "signature": signature}
        return self._answer({name: websafe_encode(value) for name, value in values.items()})

    def _site(self, name: str) -> bytes:
        return hashlib.sha256(name.encode()).digest()

    def _client(self, kind: str, options: dict[str, Any]) -> bytes:
        return json.dumps({"type": kind, "challenge": options["challenge"], "origin": self.origin}).encode()

    def _answer(self, response: dict[str, str]) -> str:
        name = websafe_encode(self.id)
        return json.dumps({"id": name, "rawId": name, "type": "public-key", "response": response})
