"""A second reader of recordings, written from docs/reference/format.md alone.

Checks every checksum, the chain, seals, links, packs and indexes, and prints the head of the log,
then one line per frame (sequence number, kind, SHA-256 of the body) and per artifact record (id,
length). Any mistake ends it with an exception. zstd frames are decompressed by libzstd, since
Python has none in its library before 3.14.
"""

import ctypes
import hashlib
import os
import struct
import sys
import zlib


def require(condition, what):
    if not condition:
        raise ValueError(what)


def header(data, letters):
    require(data[:8] == b"\x89" + letters + b"\r\n\x1a\n", "magic")
    require(struct.unpack_from("<HHI", data, 8) == (1, 0, 128), "version and length")
    require(struct.unpack_from("<I", data, 124)[0] == zlib.crc32(data[:124]), "header checksum")


def read_format(root):
    lines = open(os.path.join(root, "FORMAT"), encoding="utf-8").read().split("\n")
    require(lines[0] == "counterfold recording" and lines[1] == "format 1.0", "FORMAT")
    require(lines[3] in ("incompat", "incompat log-gap") and lines[6] == "", "FORMAT lines")
    return bytes.fromhex(lines[2].removeprefix("ledger "))


def segments(root, ledger):
    found = []
    for name in sorted(os.listdir(os.path.join(root, "log"))):
        if name.endswith(".seg"):
            data = open(os.path.join(root, "log", name), "rb").read()
            header(data, b"EVL")
            require(data[16:32] == ledger and data[96:98] == b"\1\1", "ledger and kinds")
            require(data[98:124] == bytes(26), "reserved")
            first, number, epoch = struct.unpack_from("<QII", data, 32)
            require(name == f"{first:020d}-{epoch:08x}.seg", "name")
            valid = struct.unpack_from("<Q", data, 56)[0]
            found.append((number, first, epoch, valid, data[64:96], data))
    found.sort()
    require([entry[0] for entry in found] == list(range(1, len(found) + 1)), "numbers")
    return found


def frames(root, ledger):
    chain, seq, kept = bytes(32), 0, segments(root, ledger)
    for at, (number, first, epoch, _, prev_chain, data) in enumerate(kept):
        require(prev_chain == chain and first == seq + 1, "link")
        end = kept[at + 1][3] if at + 1 < len(kept) else len(data)
        salt = struct.pack("<II", number, epoch) + ledger[:8]
        count, total, offset, sealed = 0, 0, 128, False
        while offset < end and any(data[offset:end]):
            require(not sealed, "bytes behind a seal")
            head = data[offset:offset + 80]
            require(head[:4] == b"EVF1", "frame magic")
            require(zlib.crc32(salt + head[:76]) == struct.unpack_from("<I", head, 76)[0], "CRC")
            size, own, kind, version, flags, durable = struct.unpack_from("<IQHHIQ", head, 4)
            require(own == seq + 1 and durable < own and size <= 16 << 20, "fields")
            require(flags & ~0x103 == (4 if kind == 1 else 0), "flags")
            body = data[offset + 80:offset + 80 + size]
            require(len(body) == size and zlib.crc32(body) == struct.unpack_from("<I", head, 72)[0],
                    "body")
            padded = (size + 7) // 8 * 8
            require(not any(data[offset + 80 + size:offset + 80 + padded]), "padding")
            if kind == 1:
                held = struct.unpack_from("<QQ", body, 0) + (body[16:48],)
                require(held == (count, total, chain), "seal")
                require(len(body) == 56 + 16 * struct.unpack_from("<I", body, 48)[0], "packs")
                sealed = True
            chain = hashlib.sha256(chain + head[:32] + head[64:72] + body).digest()
            require(chain == head[32:64], "chain")
            seq, count, total, offset = own, count + 1, total + size, offset + 80 + padded
            yield seq, kind, hashlib.sha256(body).hexdigest(), chain


def unzstd(frames, size, dictionary=b""):
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_createDCtx.restype = ctypes.c_void_p
    lib.ZSTD_decompress_usingDict.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(size)
    context = ctypes.c_void_p(lib.ZSTD_createDCtx())
    done = lib.ZSTD_decompress_usingDict(
        context, out, ctypes.c_size_t(size), frames, ctypes.c_size_t(len(frames)),
        dictionary, ctypes.c_size_t(len(dictionary)))
    lib.ZSTD_freeDCtx(context)
    require(done == size, "zstd frames")
    return out.raw


def check_chunks(stored, raw):
    rest, chunk, count = struct.unpack_from("<I4xII", stored, 4)
    end = 20 + 8 * count
    require(rest == end - 4 and count == -(-raw // chunk), "chunks")
    require(struct.unpack_from("<I", stored, end)[0] == zlib.crc32(stored[:end]), "chunk table")
    at = end + 4
    for number in range(count):
        size, checksum = struct.unpack_from("<II", stored, 20 + 8 * number)
        require(zlib.crc32(stored[at:at + size]) == checksum, "chunk checksum")
        unzstd(stored[at:at + size], min(chunk, raw - number * chunk))
        at += size
    require(at == len(stored), "chunk lengths")


def unpacked(codec, stored, raw, base):
    if codec == 0:
        return stored
    if stored[:4] == b"\x5c\x2a\x4d\x18" and stored[8:12] == b"EVC1":
        check_chunks(stored, raw)
    return unzstd(stored, raw, base)


def records(path, ledger):
    data = open(path, "rb").read()
    header(data, b"EVP")
    require(data[16:32] == ledger, "ledger of a pack")
    offset, contents = 128, {}
    while offset < len(data) and any(data[offset:]):
        head = data[offset:offset + 72]
        require(head[:4] == b"EVA1", "record magic")
        require(zlib.crc32(head[:68]) == struct.unpack_from("<I", head, 68)[0], "record checksum")
        codec, flags, raw, stored = struct.unpack_from("<HHQQ", head, 4)
        body = data[offset + 72:offset + 72 + stored]
        require(flags < 2 and codec < 4 and len(body) == stored, "record fields")
        require(zlib.crc32(body) == struct.unpack_from("<I", head, 64)[0], "stored checksum")
        key, base = head[24:32], b""
        if codec >= 2:
            # Writers put what a record needs in front of it.
            base = next(held for name, held in contents.items() if name[:8] == key)
        else:
            require(key == bytes(8), "base")
        content = unpacked(codec, body, raw, base)
        require(hashlib.sha256(content).digest() == head[32:64] and len(content) == raw, "SHA-256")
        contents[head[32:64]] = content
        yield head[32:64], offset, raw, stored, codec, flags
        offset += 72 + (stored + 7) // 8 * 8


def check_index(path, pack, found, ledger):
    data, packed = open(path, "rb").read(), open(pack, "rb").read()
    header(data, b"EVI")
    require(data[16:32] == ledger and data[32:48] == packed[40:56], "index of another pack")
    count, total, length = struct.unpack_from("<QQQ", data, 48)
    require(total == len(found) and length == len(packed), "counts")
    require(data[72:104] == hashlib.sha256(packed).digest(), "SHA-256 of the pack")
    last = {entry[0]: entry for entry in found}
    keys, places = 1152, 1152 + 32 * count
    sections = [data[128:keys], data[keys:places], data[places:]]
    require(count == len(last) and len(data) == places + 24 * count, "entries")
    require([zlib.crc32(part) for part in sections] == list(struct.unpack_from("<III", data, 104)),
            "section checksums")
    for at, (key, offset, raw, stored, codec, flags) in enumerate(sorted(last.values())):
        require(data[keys + 32 * at:keys + 32 * at + 32] == key, "key")
        entry = struct.unpack_from("<QQIHH", data, places + 24 * at)
        require(entry == (offset, raw, stored, codec, flags), "entry")
    for byte in range(256):
        below = sum(key[0] <= byte for key in last)
        require(struct.unpack_from("<I", data, 128 + 4 * byte)[0] == below, "fan-out")


def main(root):
    ledger = read_format(root)
    lines, seq, chain = [], 0, bytes(32)
    for seq, kind, digest, chain in frames(root, ledger):
        lines.append(f"{seq} {kind} {digest}")
    art = os.path.join(root, "art")
    for name in sorted(os.listdir(art)) if os.path.isdir(art) else []:
        if name.endswith(".pack"):
            pack = os.path.join(art, name)
            found = list(records(pack, ledger))
            lines += [f"{key.hex()} {raw}" for key, _, raw, _, _, flags in found if flags == 0]
            index = pack.removesuffix(".pack") + ".idx"
            if os.path.exists(index):
                check_index(index, pack, found, ledger)
    print(f"{seq}:{chain.hex()}")
    print("\n".join(lines))


main(sys.argv[1])
