# SPDX-License-Identifier: GPL-2.0-or-later
"""The symbols of a Linux bzImage, from the tables that the kernel carries for /proc/kallsyms (kernel/kallsyms.c,
scripts/kallsyms.c: offsets, base, count, compressed names, markers, tokens). Debian's System.map is empty.
"""
import lzma
import pathlib
import re
import struct
import subprocess
import zlib


def payload(path):
    """The uncompressed kernel inside a bzImage."""
    image = pathlib.Path(path).read_bytes()
    offset, length = struct.unpack_from('<II', image, 0x248)
    data = image[(image[0x1f1] + 1) * 512 + offset:][:length]
    if data.startswith(b'\xfd7zXZ'):
        return lzma.LZMADecompressor().decompress(data)
    if data.startswith(b'\x1f\x8b'):
        return zlib.decompressobj(31).decompress(data)
    tool = {b'\x28\xb5': 'zstd', b'\x02\x21': 'lz4', b'BZ': 'bzip2'}[data[:2]]
    return subprocess.run([tool, '-dc'], input=data[:-4], stdout=subprocess.PIPE, check=True).stdout


def align8(n):
    return (n + 7) & ~7


def find_tokens(data):
    """(offset, the 256 tokens). The digits are tokens of themselves."""
    digits = b''.join(b'%d\0' % d for d in range(10))
    for m in re.finditer(re.escape(b'\0' + digits), data):
        start = m.start()
        for _ in range(ord('0')):
            start = data.rfind(b'\0', 0, start)
        start += 1
        if start < m.start() - 4096:
            continue
        for begin in (start, start - 1):
            tokens = data[begin:begin + 8192].split(b'\0')[:256]
            index = align8(begin + sum(len(t) + 1 for t in tokens))
            want, at = [], 0
            for t in tokens:
                want.append(at)
                at += len(t) + 1
            if begin % 8 == 0 and list(struct.unpack_from('<256H', data, index)) == want:
                return begin, tokens
    raise ValueError('no kallsyms tokens in this kernel')


def find_markers(data, end):
    """Offsets of every 256th name, somewhere below `end`: (position, markers)."""
    at = end - 4
    while at > 0:
        at = data.rfind(bytes(4), 0, at + 4)
        at &= ~3
        markers, pos = [0], at + 4
        while pos < end and 256 < struct.unpack_from('<I', data, pos)[0] - markers[-1] < 256 * 64:
            markers.append(struct.unpack_from('<I', data, pos)[0])
            pos += 4
        if len(markers) > 50 and data[at:at + 4] == bytes(4):
            return at, markers
        at -= 4
    raise ValueError('no kallsyms markers in this kernel')


def name_end(data, at):
    n = data[at]
    if n & 0x80:
        return at + 2 + ((n & 0x7f) | data[at + 1] << 7)
    return at + 1 + n


def find_count(data, markers_at, markers):
    """(position of the number of symbols, that number): the names after it fit the markers."""
    low, high = (len(markers) - 1) * 256, len(markers) * 256
    at = (markers_at - markers[-1] - 8) & ~7
    while at > 0:
        count = struct.unpack_from('<I', data, at)[0]
        if low < count <= high:
            pos = at + 8
            for _ in range(256):
                pos = name_end(data, pos)
            if pos - at - 8 == markers[1]:
                return at, count
        at -= 8
    raise ValueError('no kallsyms names in this kernel')


def symbols(path):
    """name -> address, without per-CPU offsets; the first of several with one name."""
    data = payload(path)
    tokens_at, tokens = find_tokens(data)
    markers_at, markers = find_markers(data, tokens_at)
    count_at, count = find_count(data, markers_at, markers)
    base = struct.unpack_from('<Q', data, count_at - 8)[0]
    offsets = struct.unpack_from(f'<{count}i', data, count_at - 8 - align8(count * 4))
    found, pos = {}, count_at + 8
    for offset in offsets:
        end = name_end(data, pos)
        skip = 2 if data[pos] & 0x80 else 1
        name = b''.join(tokens[b] for b in data[pos + skip:end])[1:].decode()
        pos = end
        if offset < 0:
            found.setdefault(name, base - 1 - offset)
    return found
