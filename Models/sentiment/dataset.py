"""The human-rated sentences of the vaderSentiment sdist, and their fixed split.

Source: vaderSentiment 3.3.2 (MIT), additional_resources/hutto_ICWSM_2014.tar.gz. Every sentence has a mean rating
from -4 to 4 by at least 14 people; the label is negative below -0.5, positive above 0.5 and neutral between.
"""

import hashlib
import html
import io
import json
import math
import re
import statistics
import tarfile
from dataclasses import dataclass

SDIST_SHA256 = "5d7c06e027fc8b99238edb0d53d970cf97066ef97654009890b83703849632f9"
LABELS = ["negative", "neutral", "positive"]
NEUTRAL_LIMIT = 0.5
HELD_OUT_SHARE = 0.15
VALIDATION_SHARE = 0.10  # of what is not held out
NEAR_DUPLICATE = 0.7  # Jaccard similarity of the word sets from which two sentences stay on one side
FILES = {
    "tweets": "tweets",
    "movies": "movieReviewSnippets",
    "products": "amazonReviewSnippets",
    "news": "nytEditorialSnippets",
}


@dataclass
class Sentence:
    text: str
    mean: float  # mean rating, -4 ... 4
    error: float | None  # standard error of the mean; None where the individual ratings are not known
    domain: str
    part: str = ""  # "train", "validation" or "heldout"

    @property
    def label(self) -> int:
        return 0 if self.mean < -NEUTRAL_LIMIT else 2 if self.mean > NEUTRAL_LIMIT else 1


def verified(path: str, sha256: str) -> bytes:
    """The bytes of a file, which must be the very file that the recipe was written for."""
    with open(path, "rb") as file:
        data = file.read()
    found = hashlib.sha256(data).hexdigest()
    if found != sha256:
        raise SystemExit(f"{path}: SHA-256 is {found}, expected {sha256}")
    return data


def read(sdist: str) -> tuple[list[Sentence], list[Sentence]]:
    """All sentences with their part set, and the rated lexicon words (extra training texts)."""
    with tarfile.open(fileobj=io.BytesIO(verified(sdist, SDIST_SHA256))) as outer:
        root = "vaderSentiment-3.3.2/"
        inner_bytes = outer.extractfile(root + "additional_resources/hutto_ICWSM_2014.tar.gz").read()
        lexicon_lines = _lines(outer.extractfile(root + "vaderSentiment/vader_lexicon.txt").read())
    with tarfile.open(fileobj=io.BytesIO(inner_bytes)) as inner:
        members = {member.name.rsplit("/", 1)[-1]: member for member in inner.getmembers()}
        content = {name: inner.extractfile(member).read() for name, member in members.items() if name.endswith(".txt")}

    sentences = []
    for domain, stem in FILES.items():
        ratings = {}
        for line in _lines(content[f"{stem}_anonDataRatings.txt"]):
            identifier, mean, _, raw = line.split("\t")
            ratings[identifier] = (float(mean), json.loads(raw.strip().strip('"')))
        for line in _lines(content[f"{stem}_GroundTruth.txt"]):
            identifier, mean_text, text = line.split("\t", 2)
            mean, (rated_mean, raw) = float(mean_text), ratings[identifier]
            # The two files of the tweets disagree for 199 ids: there the individual ratings are of another text.
            error = statistics.pstdev(raw) / math.sqrt(len(raw)) if abs(rated_mean - mean) < 1e-3 else None
            sentences.append(Sentence(html.unescape(text).strip(), mean, error, domain))

    sentences = _without_repeats(sentences)
    _split(sentences)
    known = {_key(sentence.text) for sentence in sentences}
    lexicon = []
    for line in lexicon_lines:
        word, mean, deviation, raw = line.split("\t")
        if _key(word) not in known:
            lexicon.append(Sentence(word, float(mean), float(deviation) / math.sqrt(len(json.loads(raw))), "lexicon", "train"))
    return sentences, lexicon


def _lines(data: bytes) -> list[str]:
    return [line for line in data.decode("utf-8-sig").replace("\r\n", "\n").split("\n") if line.strip()]


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())


def _key(text: str) -> str:
    return " ".join(_words(text)) or " ".join(text.split())


def _without_repeats(sentences: list[Sentence]) -> list[Sentence]:
    """One sentence per distinct text and domain, rated with the average of its means."""
    groups = {}
    for sentence in sentences:
        groups.setdefault((sentence.domain, " ".join(sentence.text.split()).casefold()), []).append(sentence)
    for group in groups.values():
        if len(group) > 1:
            group[0].mean = sum(sentence.mean for sentence in group) / len(group)
            group[0].error = None
    return [group[0] for group in groups.values()]


def _split(sentences: list[Sentence]) -> None:
    """Sets the part of each sentence by a hash of its text; near duplicates form one group and share the part."""
    keys = [_key(sentence.text) for sentence in sentences]
    sets = [frozenset(key.split()) for key in keys]
    frequency = {}
    for words in sets:
        for word in words:
            frequency[word] = frequency.get(word, 0) + 1

    parent = list(range(len(sentences)))

    def find(node: int) -> int:
        while parent[node] != node:
            parent[node] = parent[parent[node]]
            node = parent[node]
        return node

    # Prefix filter: two sets with Jaccard similarity t share one of their n - ceil(t n) + 1 rarest words.
    by_word = {}
    for index, words in enumerate(sets):
        ordered = sorted(words, key=lambda word: (frequency[word], word))
        candidates = set()
        for word in ordered[: len(words) - math.ceil(NEAR_DUPLICATE * len(words)) + 1]:
            candidates.update(by_word.get(word, ()))
            by_word.setdefault(word, []).append(index)
        for other in candidates:
            common = len(words & sets[other])
            if common >= NEAR_DUPLICATE * (len(words) + len(sets[other]) - common):
                parent[find(index)] = find(other)

    smallest = {}
    for index, key in enumerate(keys):
        root = find(index)
        smallest[root] = min(key, smallest.get(root, key))
    for index, sentence in enumerate(sentences):
        key = smallest[find(index)]
        if _fraction("held out", key) < HELD_OUT_SHARE:
            sentence.part = "heldout"
        else:
            sentence.part = "validation" if _fraction("validation", key) < VALIDATION_SHARE else "train"


def _fraction(purpose: str, key: str) -> float:
    return int.from_bytes(hashlib.sha256(f"{purpose}:{key}".encode()).digest()[:8], "big") / 2**64
