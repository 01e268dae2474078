"""Write texts as YAML that is read as the same texts, by Souk and by other readers."""

import json
from typing import Final

import yaml

from interventions.yaml.yaml_source import YamlError, parse_yaml

_IN_LINES: Final = "k: {0}  # note\nl:\n  - {0}\n  - z\n  - {0}\n"
_ON_ONE_LINE: Final = "{{l: [{0}, z, {0}], k: {0}}}\n"


def scalar(text: str, *, inside: bool = False) -> str:
    """Return a text as it is where it is read so, else in quotes; `inside`: in a list or mapping on one line.

    Read by YAML 1.2 as Souk does, and by YAML 1.1, where `on` and `1:30` are no texts.
    """
    return text if _is_plain(text, inside) else quoted(text)


def quoted(text: str) -> str:
    """Return a text in quotes; what nobody could see in it, such as other line ends, is escaped.

    Halves of characters, which YAML cannot hold, become U+FFFD.
    """
    if text.isprintable() and ('"' in text or "\\" in text):
        return "'" + text.replace("'", "''") + "'"
    return "".join(
        char if char.isprintable() else f"\\U{ord(char):08x}"
        for char in json.dumps(_whole(text), ensure_ascii=False)
    )


def _whole(text: str) -> str:
    return "".join("\ufffd" if "\ud800" <= char <= "\udfff" else char for char in text)


def _is_plain(text: str, inside: bool) -> bool:
    if not text.isprintable():
        return False
    document = (_ON_ONE_LINE if inside else _IN_LINES).format(text)
    wanted = {"k": text, "l": [text, "z", text]}
    try:
        source = parse_yaml(document, "")  # first: unlike the other it does not recurse
        return not source.problems and source.data == wanted == yaml.safe_load(document)
    except (YamlError, yaml.YAMLError, ValueError):  # the last: a date that there is not
        return False
