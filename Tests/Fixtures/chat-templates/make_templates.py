"""Renders templates with Jinja as transformers sets it up, for Tests/ChatTemplateTests.

    python3 make_templates.py        (jinja2 3.1.6)

Reads families/*.jinja (templates with the constructs of well-known model families), renders each over the conversations below into
families.jsonl, and many small templates, one for each rule, into cases.jsonl. A line is {"template", "variables", "text"}, or
{"template", "variables", "error"} where rendering fails; "template" is the text, or in families.jsonl the file's name.
"""
import datetime
import json
import pathlib

import jinja2
import jinja2.ext
import jinja2.sandbox

HERE = pathlib.Path(__file__).parent
NOW = datetime.datetime(2024, 7, 5, 9, 8, 7)


class Generation(jinja2.ext.Extension):
    """{% generation %}: a block that marks an assistant's text, and changes nothing in the rendering."""

    tags = {"generation"}

    def parse(self, parser):
        line = next(parser.stream).lineno
        body = parser.parse_statements(["name:endgeneration"], drop_needle=True)
        return jinja2.nodes.CallBlock(self.call_method("_body"), [], [], body).set_lineno(line)

    def _body(self, caller):
        return caller()


def raise_exception(message):
    raise jinja2.exceptions.TemplateError(message)


def tojson(x, ensure_ascii=False, indent=None, separators=None, sort_keys=False):
    return json.dumps(x, ensure_ascii=ensure_ascii, indent=indent, separators=separators, sort_keys=sort_keys)


ENVIRONMENT = jinja2.sandbox.ImmutableSandboxedEnvironment(
    trim_blocks=True, lstrip_blocks=True, extensions=[Generation, jinja2.ext.loopcontrols]
)
ENVIRONMENT.filters["tojson"] = tojson
ENVIRONMENT.globals["raise_exception"] = raise_exception
ENVIRONMENT.globals["strftime_now"] = NOW.strftime


def rendering(source, variables):
    try:
        text = ENVIRONMENT.from_string(source).render(**variables)
        # What Python prints by its address in memory has no text.
        return {"error": "address"} if " at 0x" in text else {"text": text}
    except Exception as error:  # any failure is a failure to render
        return {"error": f"{type(error).__name__}: {error}".split("\n")[0]}


def write(name, rows):
    with open(HERE / name, "w", encoding="utf-8") as file:
        for row in rows:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
    print(name, len(rows), "of which errors:", sum("error" in row for row in rows))


WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a place.\nToday <or> later, \"quoted\" & so on.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "Städte, 都市"},
                "unit": {"type": "string", "enum": ["C", "F"]},
                "days": {"type": "array", "items": {"type": "integer"}},
                "area": {"type": "object", "properties": {"x": {"type": "number"}, "y": {"type": ["number", "null"]}}, "required": ["x"], "additionalProperties": {"type": "string"}},
            },
            "required": ["place"],
        },
        "return": {"type": "string"},
    },
}
EMPTY = {"type": "function", "function": {"name": "now", "description": "", "parameters": {"type": "object", "properties": {}}}}
CALL = {"id": "abcdefghi", "type": "function", "function": {"name": "get_weather", "arguments": {"place": "Zürich", "days": [1, 2], "deep": {"a": None, "b": 1.5}}}}
SECOND_CALL = {"id": "123456789", "type": "function", "function": {"name": "now", "arguments": {}}}


def message(role, content, **extra):
    return {"role": role, "content": content, **extra}


CONVERSATIONS = [
    [message("user", "Hi")],
    [message("system", "  Be brief.\n"), message("user", " Name three colours. ")],
    [message("user", "a"), message("assistant", "b"), message("user", "c\n\nd <|im_end|> {{ x }}")],
    [message("system", "S /no_think"), message("user", "U"), message("assistant", "<think>\nhm\n</think>\n\nA"), message("user", "V"), message("assistant", "\nW", reasoning_content="r")],
    [message("user", "Weather?"), message("assistant", None, tool_calls=[CALL]), message("tool", "rain", tool_call_id="abcdefghi"), message("assistant", "It rains.")],
    [message("user", "Weather?"), message("assistant", "Let me see.", tool_calls=[CALL, SECOND_CALL]), message("tool", "1", tool_call_id="abcdefghi"), message("tool", "2", tool_call_id="123456789")],
    [message("user", "a"), message("user", "b")],
    [message("system", [{"type": "text", "text": "parts"}]), message("user", [{"type": "image"}, {"type": "text", "text": " what? "}])],
    [message("assistant", "first"), message("user", "ünïcödé 🙂 é\u2028")],
    [],
]


def families():
    rows = []
    for path in sorted((HERE / "families").glob("*.jinja")):
        source = path.read_text(encoding="utf-8")
        for messages in CONVERSATIONS:
            for extra in (
                {"add_generation_prompt": True},
                {"add_generation_prompt": False, "tools": [WEATHER, EMPTY], "tools_in_user_message": False, "enable_thinking": False},
                {"add_generation_prompt": True, "tools": [WEATHER], "enable_thinking": False, "date_string": "1 Jan 2025"},
            ):
                variables = {"messages": messages, "bos_token": "<s>", "eos_token": "</s>", **extra}
                rows.append({"template": path.name, "variables": variables, **rendering(source, variables)})
    write("families.jsonl", rows)


VARIABLES = {
    "t": True, "f": False, "n": None, "i": 7, "neg": -3, "x": 2.5, "s": "Hello World", "sp": "  pad \n", "empty": "",
    "u": "Äpfel ÜBER straße ΣΑΣ 🙂", "l": [3, 1, 2], "ls": ["b", "A", "c", "a"], "e": [], "d": {"b": 2, "a": 1, "C": 3}, "ed": {},
    "nested": {"k": [1, {"z": "w"}], "items": "own", "get": 5}, "mixed": [1, "a", None, True, 2.0],
    "people": [{"name": "Ann", "age": 30, "city": {"n": "X"}}, {"name": "bob", "age": 25}, {"name": "Cy", "age": 30, "city": {"n": "Y"}}],
    "html": "<a href='x'>&\"</a>", "lines": "one\ntwo\n\n  three", "big": 1e16, "small": 1e-7, "fl": [0.1, 100.0, 1e22, 123456789.123, 5e-324],
}


def cases():
    sources = []
    for line in (HERE / "expressions.txt").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("##"):
            sources.append("{{ " + line + " }}")
    sources += [source.replace("\\r", "\r") for source in (HERE / "statements.txt").read_text(encoding="utf-8").split("\n====\n")]
    write("cases.jsonl", [{"template": source, **rendering(source, VARIABLES)} for source in sources])
    with open(HERE / "variables.json", "w", encoding="utf-8") as file:
        json.dump(VARIABLES, file, ensure_ascii=False)


families()
cases()
