"""Writes UnicodeTables.swift: the character classes that Hugging Face tokenizers use, which come from several
Unicode versions at once (its regex engine, Rust's standard library and two old tables).

usage: generate_tables.py TOKENIZER_VECTORS/unicode_sweep > UnicodeTables.swift
needs: Python 3.11 (its unicodedata is Unicode 14), libutf8proc.so.2 (lower-case differences are relative to it), perl (script property)."""
import ctypes, json, subprocess, sys, unicodedata

folder = sys.argv[1]
classes, maps = {}, {}
for line in open(folder + "/classes.jsonl"):
    d = json.loads(line)
    classes[d["class"]] = {x for a, b in d["ranges"] for x in range(a, b + 1)}
for line in open(folder + "/maps.jsonl"):
    d = json.loads(line)
    maps[d["normalizer"]] = d
expand = lambda ranges: {x for a, b in ranges for x in range(a, b + 1)}


def ranges(values):
    out = []
    for x in sorted(values):
        if out and out[-1][1] == x - 1:
            out[-1][1] = x
        else:
            out.append([x, x])
    return out


def emit(name, doc, numbers):
    print("\n    /// " + doc)
    print("    static let %s: [UInt32] = [" % name)
    row = "       "
    for n in numbers:
        item = " 0x%x," % n
        if len(row) + len(item) > 116:
            print(row)
            row = "       "
        row += item
    print(row + "\n    ]")


def emit_ranges(name, doc, values):
    emit(name, doc + " First and last scalar of each range.", [x for r in ranges(values) for x in r])


def runs(value_of):
    out, last = [], None
    for x in range(0x110000):
        v = value_of(x)
        if v != last:
            out.append((x, v))
            last = v
    return out


order = ["Lu", "Ll", "Lt", "Lm", "Lo", "M", "Nd", "N", "P", "S"]
general = bytearray(0x110000)
for i, c in reversed(list(enumerate(order))):
    for x in classes["regex:\\p{%s}" % c]:
        general[x] = i + 1
letters = classes["regex:\\p{L}"] | classes["regex:\\p{M}"] | classes["regex:\\p{Nd}"]

u = ctypes.CDLL("libutf8proc.so.2")
u.utf8proc_tolower.restype = ctypes.c_int32
lower = dict(maps["Lowercase"]["other"])
lowered = []
for x in range(0x110000):
    if 0xD800 <= x < 0xE000 or x == 0x130:
        continue
    e = [ord(c) for c in lower.get(x, chr(x))]
    assert len(e) == 1
    if e[0] != u.utf8proc_tolower(x):
        if lowered and lowered[-1][1] == x - 1 and lowered[-1][2] == e[0] - x:
            lowered[-1][1] = x
        else:
            lowered.append([x, x, e[0] - x])

# The reference's script table is Unicode 9: later scalars have no script there.
script = subprocess.run(
    ["perl", "-MUnicode::UCD=charscripts", "-e",
     'my $s = charscripts(); for my $n (sort keys %$s) { for my $r (@{$s->{$n}}) { for my $c ($r->[0]..$r->[1]) '
     '{ print "$c $c $n\n" if chr($c) =~ /\p{Present_In: 9.0}/ } } }'],
    capture_output=True, text=True, check=True).stdout
names = sorted({line.split()[2] for line in script.splitlines()} - {"Unknown"})
names.remove("Common"), names.remove("Han")
names = ["Common", "Han"] + names
scripts = bytearray(0x110000)
for line in script.splitlines():
    a, b, n = line.split()
    if n != "Unknown":
        # The reference counts both kana with Han.
        k = "Han" if n in ("Hiragana", "Katakana") else n
        for x in range(int(a), int(b) + 1):
            scripts[x] = names.index(k) + 1

bert = maps["BertNormalizer(clean,chinese,strip=false,no lower)"]
control = expand(bert["removed"])
marks = expand(maps["BertNormalizer(clean,chinese,strip=null,lower)"]["removed"]) - control

print("// Written by generate_tables.py from the sweep over all scalars in the tokenizer vectors. Do not edit.\n")
print("enum UnicodeTables {", end="")
emit("generalClassRuns", "Runs of equal class in the regex engine: first scalar << 4 | class, class as in `GeneralClass`.",
     [x << 4 | v for x, v in runs(lambda x: general[x])])
assert unicodedata.unidata_version == "14.0.0"
added = []
for x, v in enumerate(general):
    if v and unicodedata.category(chr(x)) == "Cn":
        if added and added[-1][1] == x - 1 and added[-1][2] == v:
            added[-1][1] = x
        else:
            added.append([x, x, v])
emit("newerThanUnicode14", "Scalars that PCRE2 10.40 to 10.42 do not know: first << 4 | class, last.",
     [n for a, b, v in added for n in (a << 4 | v, b)])
emit_ranges("wordExtra", "What the regex class `\\w` has besides letters, marks and decimal digits.", classes["regex:\\w"] - letters)
emit_ranges("whitespace", "White space (`\\s`).", classes["regex:\\s"])
emit_ranges("han", "The regex class `\\p{Han}`.", classes["regex:\\p{Han}"])
emit_ranges("punctuation", "Isolated by the BertPreTokenizer and Punctuation pre-tokenizers.", classes["Punctuation:isolated"])
emit_ranges("numeric", "Isolated by the Digits pre-tokenizer.", classes["Digits:isolated"])
emit_ranges("accents", "Removed by the StripAccents normalizer.", expand(maps["StripAccents"]["removed"]))
emit_ranges("nonspacingMarks", "Removed by the accent stripping of BertNormalizer.", marks)
emit_ranges("bertControl", "Removed by the cleaning of BertNormalizer.", control)
emit_ranges("bertIdeographs", "Surrounded by spaces in BertNormalizer.", expand(bert["surrounded_by_spaces"]))
emit("lowercaseDifferences", "Lower-case letters that utf8proc may lack: first, last, distance (two's complement).",
     [v & 0xFFFFFFFF for r in lowered for v in r])
emit("scriptRuns", "Runs of equal script: first scalar << 8 | script, 0 = none; kana counts as Han (2).",
     [x << 8 | v for x, v in runs(lambda x: scripts[x])])
print("}")
