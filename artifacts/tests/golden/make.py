"""Makes the pack and the index beside this file from the tables in docs/reference/format.md.

Every codec stands in it, written by a program that shares nothing with the crate but zstd. Its
output is checked in, and is read for ever; a change of this program makes another pack.
"""

import ctypes
import hashlib
import os
import struct
import zlib

ZSTD = ctypes.CDLL("libzstd.so.1")
for name in ("ZSTD_compressBound", "ZSTD_compress_usingDict"):
    getattr(ZSTD, name).restype = ctypes.c_size_t
ZSTD.ZSTD_createCCtx.restype = ctypes.c_void_p

LEDGER = b"0123456789abcdef"
NAME = "p-000001-3f9a6c01"
TEXT = b"".join(b"line %d of a file that is read again\n" % at for at in range(40))
EDITED = TEXT.replace(b"line 20 of", b"line twenty of")
SHORT = b"short line 7 of a file\n"
CHUNK = 65536
LONG = b"".join(b"%06d\n" % (at // 1000) for at in range(10000))
DICTIONARY = b"one short line, a file, lines of a file that is read again\n"


def compress(raw, dictionary=b""):
    context = ctypes.c_void_p(ZSTD.ZSTD_createCCtx())
    size = ZSTD.ZSTD_compressBound(len(raw))
    out = ctypes.create_string_buffer(size)
    done = ZSTD.ZSTD_compress_usingDict(
        context, out, ctypes.c_size_t(size), raw, ctypes.c_size_t(len(raw)),
        dictionary, ctypes.c_size_t(len(dictionary)), 3)
    return out.raw[:done]


def chunked(raw):
    frames = [compress(raw[at:at + CHUNK]) for at in range(0, len(raw), CHUNK)]
    table = b"EVC1" + struct.pack("<II", CHUNK, len(frames))
    for frame in frames:
        table += struct.pack("<II", len(frame), zlib.crc32(frame))
    table = b"\x5c\x2a\x4d\x18" + struct.pack("<I", len(table) + 4) + table
    return table + struct.pack("<I", zlib.crc32(table)) + b"".join(frames)


def record(codec, raw, stored, base=b"", flags=0):
    key = hashlib.sha256(base).digest()[:8] if base else bytes(8)
    head = b"EVA1" + struct.pack("<HHQQ", codec, flags, len(raw), len(stored)) + key
    head += hashlib.sha256(raw).digest() + struct.pack("<I", zlib.crc32(stored))
    return head + struct.pack("<I", zlib.crc32(head)) + stored + bytes(-len(stored) % 8)


def index(pack, records):
    rows, at = [], 128
    for codec, raw, stored, _, flags in records:
        entry = struct.pack("<QQIHH", at, len(raw), len(stored), codec, flags)
        rows.append((hashlib.sha256(raw).digest(), entry))
        at += 72 + len(stored) + -len(stored) % 8
    rows.sort()
    fan_out = b"".join(struct.pack("<I", sum(key[0] <= first for key, _ in rows))
                       for first in range(256))
    keys, entries = (b"".join(column) for column in zip(*rows))
    head = b"\x89EVI\r\n\x1a\n" + struct.pack("<HHI", 1, 0, 128) + pack[16:32] + pack[40:56]
    head += struct.pack("<QQQ", len(rows), len(records), len(pack)) + hashlib.sha256(pack).digest()
    head += struct.pack("<III", *map(zlib.crc32, (fan_out, keys, entries))) + bytes(8)
    return head + struct.pack("<I", zlib.crc32(head)) + fan_out + keys + entries


RECORDS = [
    (0, SHORT, SHORT, b"", 0),
    (0, DICTIONARY, DICTIONARY, b"", 1),
    (2, TEXT, compress(TEXT, DICTIONARY), DICTIONARY, 0),
    (3, EDITED, compress(EDITED, TEXT), TEXT, 0),
    (1, LONG, chunked(LONG), b"", 0),
]
HEAD = b"\x89EVP\r\n\x1a\n" + struct.pack("<HHI", 1, 0, 128) + LEDGER + bytes(8)
HEAD += struct.pack("<IIQ", 1, 0x3F9A6C01, 5) + bytes(40 + 4 + 24)
PACK = HEAD + struct.pack("<I", zlib.crc32(HEAD)) + b"".join(record(*row) for row in RECORDS)
for suffix, data in ((".pack", PACK), (".idx", index(PACK, RECORDS))):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), NAME + suffix)
    with open(path, "wb") as file:
        file.write(data)
