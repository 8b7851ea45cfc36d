"""English prose in the public domain, out of four Debian packages, and its fixed split.

    apt-get download r-cran-janeaustenr=1.0.0-1 r-cran-tokenizers=0.3.0-1 sword-text-web=426.0-1 golang-1.19-src=1.19.8-2

Every text becomes a list of passages: paragraphs without line breaks, joined by an empty line, of at least
PASSAGE characters together. A hash of a passage says whether it is held out.
"""

import hashlib
import io
import pathlib
import re
import struct
import tarfile
import zlib
from dataclasses import dataclass

PASSAGE = 1500  # characters from which a passage is closed
HELD_OUT_SHARE = 0.03
PACKAGES = {
    "austen": (
        "r-cran-janeaustenr_1.0.0-1_all.deb", "df6bddf211906d1ff404f8ff662c21b34e6660e7f54a311084e749050c019c95", "usr/lib/R/site-library/janeaustenr/data/Rdata.rdb",
    ),
    "melville": (
        "r-cran-tokenizers_0.3.0-1_amd64.deb", "6312f013ebfde5650235bfd7ba5c44d9e4cf9f2da9855337c9483fe778f0d8c7", "usr/lib/R/site-library/tokenizers/data/Rdata.rdb",
    ),
    "bible": (
        "sword-text-web_426.0-1_all.deb", "930b23670b352f0829a306501de4bebb5e654a2df02cde2cbe86b802177868e1", "usr/share/sword/modules/texts/ztext/engWEB2015eb/{}.bz{}",
    ),
    "newton": (
        "golang-1.19-src_1.19.8-2_all.deb", "2dfa82fe4f08f4e0193c532e561af4c91871f5235608f04f2bb8d57bb288df5a", "usr/share/go-1.19/src/testdata/Isaac.Newton-Opticks.txt",
    ),
}


@dataclass
class Passage:
    text: str
    source: str

    @property
    def is_held_out(self) -> bool:
        digest = hashlib.sha256(self.text.encode()).digest()
        return int.from_bytes(digest[:8], "big") / 2**64 < HELD_OUT_SHARE


def read(folder: pathlib.Path) -> list[Passage]:
    """All passages of all texts, in order."""
    passages = []
    for source, (package, sha256, path) in PACKAGES.items():
        files = _debian_files(_verified(folder / package, sha256))
        if source == "bible":
            parts = [_zip_text(*(files.extractfile("./" + path.format(part, kind)).read() for kind in "sz")) for part in ("ot", "nt")]
            works = [_osis_paragraphs(text) for part in parts for text in part]
        elif source == "newton":
            works = [_paragraphs(files.extractfile("./" + path).read().decode("utf-8").splitlines())]
        else:
            works = [_paragraphs(lines) for lines in _r_character_vectors(files.extractfile("./" + path).read())]
        for paragraphs in works:
            passages += [Passage(text, source) for text in _grouped(paragraphs)]
    return passages


def _verified(path: pathlib.Path, sha256: str) -> bytes:
    """The bytes of a file, which must be the very file that the recipe was written for."""
    data = path.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise SystemExit(f"{path}: SHA-256 is {found}, expected {sha256}")
    return data


def _debian_files(data: bytes) -> tarfile.TarFile:
    """The files of a Debian package: an ar archive with a member data.tar.xz."""
    position = 8
    while position < len(data):
        name, size = data[position : position + 16].decode().strip(), int(data[position + 48 : position + 58])
        if name.startswith("data.tar"):
            return tarfile.open(fileobj=io.BytesIO(data[position + 60 : position + 60 + size]))
        position += 60 + size + size % 2
    raise SystemExit("a Debian package without data")


def _r_character_vectors(data: bytes) -> list[list[str]]:
    """The character vectors of R's Rdata.rdb: chunks of a big-endian size and a zlib stream, each a serialised object (XDR)."""
    vectors = []
    while data:
        stream = zlib.decompressobj()
        value, data = stream.decompress(data[4:]), stream.unused_data
        native_encoding = struct.unpack_from(">i", value, 14)[0]
        position = 18 + native_encoding
        kind, count = struct.unpack_from(">ii", value, position)
        if kind & 0xFF != 16:
            raise SystemExit(f"an R object of type {kind & 0xFF} instead of a character vector")
        position, strings = position + 8, []
        for _ in range(count):
            length = struct.unpack_from(">i", value, position + 4)[0]
            strings.append(value[position + 8 : position + 8 + length].decode("utf-8"))
            position += 8 + length
        vectors.append("\n".join(strings).split("\n"))
    return vectors


def _zip_text(index: bytes, data: bytes) -> list[str]:
    """The books of a SWORD zText module: the index has offset, size and unpacked size of each."""
    return [zlib.decompress(data[start : start + size]).decode("utf-8") for start, size, _ in struct.iter_unpack("<III", index)]


def _osis_paragraphs(text: str) -> list[str]:
    """Paragraphs and verse lines of OSIS markup, without titles, notes and numbers."""
    text = re.sub(r"<(title|note|reference)\b[^>]*?(?<!/)>.*?</\1>", "", text, flags=re.DOTALL)
    text = re.sub(r"<(div|chapter|lg|list)\b[^>]*>", "\n\n", text)
    return [_clean(re.sub(r"<[^>]*>", "", block)) for block in text.split("\n\n")]


def _paragraphs(lines: list[str]) -> list[str]:
    """Paragraphs of plain text (separated by empty lines); headings, tables and captions are left out."""
    blocks, block = [], []
    for line in [*lines, ""]:
        if line.strip():
            block.append(line)
        elif block:
            blocks.append(block)
            block = []
    return [_clean(" ".join(block)) for block in blocks if not any(re.search(r"\S {3,}\S|\[Illustration|\|", line) for line in block)]


def _clean(text: str) -> str:
    text = text.translate({0x2018: "'", 0x2019: "'", 0x201C: '"', 0x201D: '"', 0x2014: "--", 0x2013: "-", 0xA0: " ", ord("_"): None})
    return " ".join(text.split())


def _grouped(paragraphs: list[str]) -> list[str]:
    """Passages of at least PASSAGE characters; what is no sentence (a heading) is left out."""
    passages, group = [], []
    for paragraph in paragraphs:
        if re.search(r"[a-z]", paragraph) and re.search(r"[.!?;:,\"')-]$", paragraph) and not re.match(r"(?i)chapter\b", paragraph):
            group.append(paragraph)
            if sum(map(len, group)) >= PASSAGE:
                passages.append("\n\n".join(group))
                group = []
    return passages + (["\n\n".join(group)] if group else [])
