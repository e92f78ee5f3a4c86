"""Ed25519 signatures (RFC 8032), made and checked strictly, with the standard library alone.

Pure. A scalar or a point has one accepted encoding; a key of small order, which verifies messages that nobody signed,
is refused. The time of an operation depends on the secret: sign where nobody can measure single signatures.
"""

import hashlib
from typing import TypeAlias

SEED_BYTES = PUBLIC_BYTES = 32
SIGNATURE_BYTES = 64

_P = 2**255 - 19
_ORDER = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT_OF_MINUS_ONE = pow(2, (_P - 1) // 4, _P)

# Extended coordinates (X, Y, Z, T): x = X/Z, y = Y/Z, x·y = T/Z.
_Point: TypeAlias = tuple[int, int, int, int]
_NEUTRAL: _Point = (0, 1, 1, 0)


def public_key(seed: bytes) -> bytes:
    """Return the 32 bytes of the public key of a seed of 32 random bytes."""
    scalar, _ = _expanded(seed)
    return _encoded(_multiplied(scalar, _BASE))


def sign(seed: bytes, message: bytes) -> bytes:
    """Return the signature of a message, 64 bytes: the same for the same seed and message."""
    scalar, prefix = _expanded(seed)
    public = _encoded(_multiplied(scalar, _BASE))
    nonce = _hashed(prefix, message)
    commitment = _encoded(_multiplied(nonce, _BASE))
    answer = (nonce + _hashed(commitment, public, message) * scalar) % _ORDER
    return commitment + answer.to_bytes(32, "little")


def is_signed(public: bytes, message: bytes, signature: bytes) -> bool:
    """Say whether the signature of the message was made with this key. Never raises, whatever the bytes are."""
    if len(signature) != SIGNATURE_BYTES or not is_public_key(public):
        return False
    point = _decoded(public)
    answer = int.from_bytes(signature[32:], "little")
    if point is None or answer >= _ORDER:
        return False
    challenge = _hashed(signature[:32], public, message)
    found = _added(_multiplied(answer, _BASE), _multiplied(_ORDER - challenge % _ORDER, point))
    # The encoding is compared, so that no second encoding of the commitment is accepted.
    return _encoded(found) == signature[:32]


def is_public_key(public: bytes) -> bool:
    """Say whether the bytes are the canonical encoding of a point that is not of small order."""
    point = _decoded(public)
    return point is not None and _encoded(_multiplied(8, point)) != _encoded(_NEUTRAL)


def _expanded(seed: bytes) -> tuple[int, bytes]:
    """Return the secret scalar of a seed and the prefix of its nonces."""
    if len(seed) != SEED_BYTES:
        raise ValueError(f"a seed has {SEED_BYTES} bytes, not {len(seed):,}")
    digest = hashlib.sha512(seed).digest()
    scalar = int.from_bytes(digest[:32], "little")
    return scalar & ((1 << 254) - 8) | 1 << 254, digest[32:]


def _hashed(*parts: bytes) -> int:
    return int.from_bytes(hashlib.sha512(b"".join(parts)).digest(), "little") % _ORDER


def _added(one: _Point, other: _Point) -> _Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c = 2 * one[3] * other[3] * _D % _P
    d = 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _multiplied(scalar: int, point: _Point) -> _Point:
    found = _NEUTRAL
    while scalar:
        if scalar & 1:
            found = _added(found, point)
        point = _added(point, point)
        scalar >>= 1
    return found


def _encoded(point: _Point) -> bytes:
    inverse = pow(point[2], -1, _P)
    x, y = point[0] * inverse % _P, point[1] * inverse % _P
    return (y | (x & 1) << 255).to_bytes(32, "little")


def _decoded(data: bytes) -> _Point | None:
    """Return the point that 32 bytes encode; None where they are not a canonical encoding."""
    if len(data) != PUBLIC_BYTES:
        return None
    number = int.from_bytes(data, "little")
    sign_of_x, y = number >> 255, number & ((1 << 255) - 1)
    if y >= _P:
        return None
    x = _root_for(y)
    if x is None or (x == 0 and sign_of_x):
        return None
    if x & 1 != sign_of_x:
        x = _P - x
    return x, y, 1, x * y % _P


def _root_for(y: int) -> int | None:
    """Return one of the two x of a point with this y; None where there is none."""
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT_OF_MINUS_ONE % _P
    return None if (x * x - square) % _P else x


_BASE_POINT = _decoded((4 * pow(5, -1, _P) % _P).to_bytes(32, "little"))
assert _BASE_POINT is not None, "the base point of RFC 8032"
_BASE: _Point = _BASE_POINT
