"""Signs what a fuzzer sends, as an enrolled client would."""

import secrets
from collections.abc import Callable
from datetime import datetime

import requests
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from http_message_signatures import HTTPMessageSigner, MappingKeyResolver
from http_message_signatures.algorithms import ED25519
from requests.auth import AuthBase

from fgpr import signatures
from fgpr.signed_requests import LABEL, NONCE_BYTES, TAG, covered


class Signing(AuthBase):
    """Signs each request with one key (RFC 9421), whatever its method, path, query and body are."""

    def __init__(self, key: Ed25519PrivateKey, clock: Callable[[], datetime], epoch: str) -> None:
        self._key_id = signatures.key_id(signatures.public_bytes(key))
        self._clock = clock
        self._epoch = epoch
        keys = MappingKeyResolver(public_keys={}, private_keys={self._key_id: key})
        self._signer = HTTPMessageSigner(signature_algorithm=ED25519, key_resolver=keys)

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        body = request.body or b""
        body = body.encode() if isinstance(body, str) else bytes(body)
        request.body = body
        # Nobody signs a digest that is wrong: the right one is signed, and the other one sent.
        made_up = request.headers.pop("Content-Digest", None)
        self._signer.sign(
            request,
            key_id=self._key_id,
            created=self._clock(),
            nonce=self._epoch + secrets.token_urlsafe(NONCE_BYTES),
            label=LABEL,
            tag=TAG,
            # Without a content type there is nothing that it could cover.
            covered_component_ids=covered(body if "Content-Type" in request.headers else b""),
            body=body or None,
        )
        if made_up is not None:
            request.headers["Content-Digest"] = made_up
        return request
