"""Reference logits of the converted topic model: transformers' PyTorch BERT in float32 on the folder's weights.

    python reference.py topics-hf

Writes reference.json into the folder: the texts, their token ids and logits, and how far the logits of a padded batch are from
those of one text at a time.
"""

import json
import pathlib
import sys

import torch
import transformers

TEXTS = [
    "Our dog is a rescued puppy of a rare breed and the veterinarian says our cat is healthy.",
    "The sedan has a turbo engine, 200 horsepower and new tires, a joy for every driver.",
    "Preheat the oven, add salt, pepper, butter and garlic to the chicken and cook it slowly.",
    "Book a cheap flight and a hotel near the beach for your vacation.",
    "The author writes poems and novels; her first book of fiction won a literature prize.",
    "Compare mortgage interest, bank loans and credit cards before an investment in stocks.",
    "Send your resume and salary expectations to the employer; we are hiring for this job.",
    "New furniture for the kitchen, the bedroom and the garden.",
    "",
    "Ωμέγα 東京 🎉 naïve CAFÉ 12345 — unknown wörds & punctuation!?",
    "guitar " * 600,
]


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    config = json.loads((folder / "config.json").read_text())
    tokenizer = transformers.BertTokenizer(vocab=str(folder / "vocab.txt"), do_lower_case=True)
    model, report = transformers.BertForSequenceClassification.from_pretrained(folder, dtype=torch.float32, output_loading_info=True)
    if report["missing_keys"] or report["unexpected_keys"] or report["mismatched_keys"]:
        raise SystemExit(f"{folder}: {report}")
    model.eval()
    length = config["max_position_embeddings"]
    with torch.no_grad():
        rows, single = [], []
        for text in TEXTS:
            inputs = tokenizer(text, truncation=True, max_length=length, return_tensors="pt")
            logits = model(**inputs).logits[0]
            single.append(logits)
            label = config["id2label"][str(logits.argmax().item())]
            rows.append({"text": text, "input_ids": inputs["input_ids"][0].tolist(), "label": label, "logits": [float(f"{v:.8g}") for v in logits.tolist()]})
        padded = model(**tokenizer(TEXTS, truncation=True, max_length=length, padding=True, return_tensors="pt")).logits
    result = {
        "versions": {"torch": torch.__version__, "transformers": transformers.__version__},
        "max_abs_difference_padded": (padded - torch.stack(single)).abs().max().item(),
        "cases": rows,
    }
    (folder / "reference.json").write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
