"""TLS 1.3 records full of session tickets. OpenSSL puts one ticket into a record, so this module makes and encrypts them."""

import hashlib
import hmac
import struct

from cryptography.hazmat.primitives.ciphers.aead import AESGCM

CIPHERS = {"TLS_AES_256_GCM_SHA384": (hashlib.sha384, 32), "TLS_AES_128_GCM_SHA256": (hashlib.sha256, 16)}

# RFC 8446 section 4.6.1: the type and three bytes of length; lifetime, age_add, an empty nonce, a ticket of one byte, no extensions.
TICKET = b"\x04\0\0\x0e" + struct.pack(">II", 7200, 1) + b"\0" + b"\0\x01T" + b"\0\0"
# As many as fit into one record (section 5.1), and the type of its content: a handshake message.
INNER = TICKET * ((1 << 14) // len(TICKET)) + b"\x16"


def expand(digest, secret, label, length):
    """HKDF-Expand-Label of section 7.1 with an empty context, for results of one block."""
    label = b"tls13 " + label
    info = struct.pack(">H", length) + bytes([len(label)]) + label + b"\0"
    return hmac.new(secret, info + b"\x01", digest).digest()[:length]


def records(secret, cipher, number):
    """Endless records, under a traffic secret that has encrypted `number` records before (section 5.3)."""
    digest, size = CIPHERS[cipher]
    key, start = AESGCM(expand(digest, secret, b"key", size)), int.from_bytes(expand(digest, secret, b"iv", 12), "big")
    head = b"\x17\x03\x03" + struct.pack(">H", len(INNER) + 16)
    while True:
        yield head + key.encrypt((start ^ number).to_bytes(12, "big"), INNER, head)
        number += 1
