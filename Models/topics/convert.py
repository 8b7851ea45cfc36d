"""Turns the English topic model of categorium 0.2.2 (a Keras h5 file) into a Hugging Face folder.

    python convert.py --sdist categorium-0.2.2.tar.gz --output topics-hf [--float16]

Needs h5py and numpy alone; the safetensors file is written by hand. A tensor that the h5 file has and the layout
below does not name, or the other way round, is an error.
"""

import argparse
import hashlib
import io
import json
import pathlib
import re
import struct
import tarfile

import h5py
import numpy

SDIST_SHA256 = "e730884731f699eba65ec82a640455d305f41650431f2796be31027e502c5772"
ROOT = "categorium-0.2.2/categorium/modelos/en/"
RENAMES = [
    (r"^(?:bert|classifier)/tf_bert_for_sequence_classification/", ""),
    (r":0$", ""),
    (r"layer_\._(\d+)", r"layer.\1"),
    (r"embeddings/(\w+)_embeddings/(?:embeddings|weight)$", r"embeddings/\1_embeddings/weight"),
    (r"LayerNorm/gamma$", "LayerNorm/weight"),
    (r"LayerNorm/beta$", "LayerNorm/bias"),
    (r"/kernel$", "/weight"),
    (r"/", "."),
]


def expected_shapes(config: dict) -> dict[str, tuple[int, ...]]:
    """Every parameter of BertForSequenceClassification, with its shape."""
    hidden, inner = config["hidden_size"], config["intermediate_size"]
    shapes = {
        "bert.embeddings.word_embeddings.weight": (config["vocab_size"], hidden),
        "bert.embeddings.position_embeddings.weight": (config["max_position_embeddings"], hidden),
        "bert.embeddings.token_type_embeddings.weight": (config["type_vocab_size"], hidden),
        "bert.embeddings.LayerNorm.weight": (hidden,),
        "bert.embeddings.LayerNorm.bias": (hidden,),
    }
    linears = {"bert.pooler.dense": (hidden, hidden), "classifier": (len(config["id2label"]), hidden)}
    for layer in range(config["num_hidden_layers"]):
        prefix = f"bert.encoder.layer.{layer}."
        for name in ("query", "key", "value"):
            linears[f"{prefix}attention.self.{name}"] = (hidden, hidden)
        linears[f"{prefix}attention.output.dense"] = (hidden, hidden)
        linears[f"{prefix}intermediate.dense"] = (inner, hidden)
        linears[f"{prefix}output.dense"] = (hidden, inner)
        for norm in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"{prefix}{norm}.weight"] = shapes[f"{prefix}{norm}.bias"] = (hidden,)
    for name, shape in linears.items():
        shapes[f"{name}.weight"], shapes[f"{name}.bias"] = shape, shape[:1]
    return shapes


def read_weights(h5: bytes) -> dict[str, numpy.ndarray]:
    """The parameters under their Hugging Face names; Keras stores a dense kernel as [in, out], PyTorch as [out, in]."""
    weights = {}

    def visit(path: str, item: h5py.HLObject) -> None:
        if not isinstance(item, h5py.Dataset):
            return
        name = path
        for pattern, replacement in RENAMES:
            name = re.sub(pattern, replacement, name)
        value = item[()]
        weights[name] = numpy.ascontiguousarray(value.T if path.endswith("/kernel:0") else value)

    with h5py.File(io.BytesIO(h5)) as file:
        file.visititems(visit)
    return weights


def safetensors_bytes(weights: dict[str, numpy.ndarray]) -> bytes:
    names, header, offset = {"float32": "F32", "float16": "F16"}, {"__metadata__": {"format": "pt"}}, 0
    for name, value in sorted(weights.items()):
        header[name] = {"dtype": names[value.dtype.name], "shape": list(value.shape), "data_offsets": [offset, offset + value.nbytes]}
        offset += value.nbytes
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    return struct.pack("<Q", len(text)) + text + b"".join(value.tobytes() for _, value in sorted(weights.items()))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--sdist", required=True, type=pathlib.Path)
    parser.add_argument("--output", required=True, type=pathlib.Path)
    parser.add_argument("--float16", action="store_true", help="round the weights to float16: half the size")
    arguments = parser.parse_args()

    data = arguments.sdist.read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != SDIST_SHA256:
        raise SystemExit(f"{arguments.sdist}: SHA-256 is {found}, expected {SDIST_SHA256}")
    with tarfile.open(fileobj=io.BytesIO(data)) as sdist:
        h5 = sdist.extractfile(ROOT + "en_hultig_model/tf_model.h5").read()
        config = json.loads(sdist.extractfile(ROOT + "en_hultig_model/config.json").read())
        vocabulary = sdist.extractfile(ROOT + "hultig-bert-token-uncased_en-vocab.txt").read()
        lines = sdist.extractfile(ROOT + "en_categorias.csv").read().decode("utf-8-sig").splitlines()
        licence = sdist.extractfile("categorium-0.2.2/LICENSE.txt").read()
    labels = [line.strip() for line in lines[1:] if line.strip()]
    if lines[0].strip() != "cat" or len(labels) != len(config["id2label"]):
        raise SystemExit(f"en_categorias.csv: {len(labels)} labels, the model has {len(config['id2label'])}")

    config["id2label"] = dict(enumerate(labels))
    config["label2id"] = {label: index for index, label in enumerate(labels)}
    config["problem_type"] = "single_label_classification"
    weights = read_weights(h5)
    shapes = expected_shapes(config)
    wrong = sorted(set(weights) ^ set(shapes)) or [name for name in shapes if weights[name].shape != shapes[name]]
    if wrong:
        raise SystemExit(f"tf_model.h5: missing, unknown or misshapen: {', '.join(wrong)}")
    if arguments.float16:
        weights = {name: value.astype(numpy.float16) for name, value in weights.items()}
    config["torch_dtype"] = "float16" if arguments.float16 else "float32"

    arguments.output.mkdir(parents=True, exist_ok=True)
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, "model_max_length": config["max_position_embeddings"]}
    files = {
        "config.json": (json.dumps(config, indent=2) + "\n").encode(),
        "model.safetensors": safetensors_bytes(weights),
        "vocab.txt": vocabulary,
        "tokenizer_config.json": (json.dumps(settings, indent=2) + "\n").encode(),
        "LICENSE.txt": licence,
    }
    for name, content in files.items():
        (arguments.output / name).write_bytes(content)


if __name__ == "__main__":
    main()
