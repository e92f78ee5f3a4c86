"""Ed25519 in bare Python: the vectors of RFC 8032, the same bytes as a library, and one form of everything."""

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given, settings
from hypothesis import strategies as st

from adjudication.signatures.ed25519 import is_public_key, is_signed, public_key, sign

ORDER = 2**252 + 27742317777372353535851937790883648493
P = 2**255 - 19
# RFC 8032, section 7.1: seed, public key, message, signature.
VECTORS = [
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
        "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
        "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
        "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
    (
        "833fe62409237b9d62ec77587520911e9a759cec1d19755b7da901b96dca3d42",
        "ec172b93ad5e563bf4932c70e1245034c35467ef2efd4d64ebf819683467e2bf",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        "dc2a4459e7369633a52b1bf277839a00201009a3efbf3ecb69bea2186c26b589"
        "09351fc9ac90b3ecfdfbc7c66431e0303dca179c138ac17ad9bef1177331a704",
    ),
]
SEED, PUBLIC, MESSAGE, SIGNATURE = (bytes.fromhex(each) for each in VECTORS[2])


@pytest.mark.parametrize(("seed", "public", "message", "signature"), VECTORS)
def test_the_vectors_of_the_standard(seed: str, public: str, message: str, signature: str) -> None:
    assert public_key(bytes.fromhex(seed)).hex() == public
    assert sign(bytes.fromhex(seed), bytes.fromhex(message)).hex() == signature
    assert is_signed(bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signature))


@settings(max_examples=15, deadline=None)
@given(seed=st.binary(min_size=32, max_size=32), message=st.binary(max_size=200), bit=st.integers(0, 511))
def test_it_signs_and_refuses_as_a_library_does(seed: bytes, message: bytes, bit: int) -> None:
    library = Ed25519PrivateKey.from_private_bytes(seed)
    public, signature = library.public_key().public_bytes_raw(), library.sign(message)
    assert (public_key(seed), sign(seed, message)) == (public, signature)
    forged = bytearray(signature)
    forged[bit // 8] ^= 1 << bit % 8
    assert not is_signed(public, message, bytes(forged))
    with pytest.raises(InvalidSignature):
        Ed25519PublicKey.from_public_bytes(public).verify(bytes(forged), message)


@given(public=st.binary(max_size=40), message=st.binary(max_size=4), signature=st.binary(max_size=70))
@settings(max_examples=50, deadline=None)
def test_whatever_the_bytes_are_nothing_is_raised(public: bytes, message: bytes, signature: bytes) -> None:
    assert not is_signed(public, message, signature)


def number(value: int) -> bytes:
    return value.to_bytes(32, "little")


@pytest.mark.parametrize(
    ("signature", "why"),
    [
        (SIGNATURE[:32] + number(int.from_bytes(SIGNATURE[32:], "little") + ORDER), "the answer plus the order"),
        (SIGNATURE + b"\0", "a byte more"),
        (SIGNATURE[:-1], "a byte less"),
        (b"", "nothing"),
        (bytes(64), "zeros"),
    ],
)
def test_a_signature_has_one_form(signature: bytes, why: str) -> None:
    assert not is_signed(PUBLIC, MESSAGE, signature), why


@pytest.mark.parametrize(
    ("public", "why"),
    [
        (number(1), "the neutral point: it signs everything"),
        (number(P - 1), "a point of order 2"),
        (number(0), "a point of order 4"),
        (bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "a point of order 8"),
        (number(P + 1), "the neutral point in a second form"),
        (number(1 | 1 << 255), "an x of zero with a sign"),
        (number(2), "no point of the curve"),
        (PUBLIC[:31], "too short"),
    ],
)
def test_a_key_has_one_form_and_is_no_small_point(public: bytes, why: str) -> None:
    # With a key of small order and this signature, a check that is not strict takes half of all messages or all.
    forged = number(1) + number(0)
    assert not is_public_key(public), why
    assert not any(is_signed(public, bytes([each]), forged) for each in range(4)), why
    assert is_public_key(PUBLIC)
