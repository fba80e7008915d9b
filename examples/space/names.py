"""Names in a text: where they stand, and a guess at them, which visitors see and may correct."""

import calendar
import re
from unicodedata import category

CURLY = "\N{RIGHT SINGLE QUOTATION MARK}"
QUOTE = f"'{CURLY}"
WORD = re.compile(rf"[^\W_][\w{QUOTE}-]*")
POSSESSIVE = re.compile(rf"[{QUOTE}]s$")
SENTENCE_END = re.compile(r"[.!?:;\n]\W*$")
# Words that are capitalised and name no place or thing.
NO_NAMES = frozenset(
    f"""
    a about after all also although always am an and another any anyone are area as at avoid because before both but by
    can could did do does don't each even every everyone everything food for from great had has have having he her here
    his how however i i'd i'll i'm i've if in is it it's its just lots many maybe me most much my never nice no not
    nothing of on once one only or other our people perhaps place price prices quite rather really rent rents same
    service she should since so some someone still such than that that's the their them then there there's these they
    they're this those though to too try very was we we're well were what what's when where whether which while who why
    will with would yes yet you your {" ".join([*calendar.day_name, *calendar.month_name])}
    """.lower().split()
)
VERBS = frozenset(["and", "are", "had", "has", "have", "is", "isn't", "or", "was", "wasn't", "were", "will"])


def places(name: str, text: str) -> list[tuple[int, int]]:
    """[start, end) of a name wherever it stands in a text: as whole words, whatever their case, the blanks between
    them and the form of an apostrophe; in scripts without capitals also within longer words."""
    words = (re.escape(word).replace("'", f"[{QUOTE}]") for word in name.replace(CURLY, "'").split())
    written = r"\s+".join(words)
    found = [match.span() for match in re.finditer(written or "(?!)", text, re.IGNORECASE)]
    return [
        (start, end)
        for start, end in found
        if not _one_word(text[start - 1 : start], text[start]) and not _one_word(text[end - 1], text[end : end + 1])
    ]


def _one_word(before: str, after: str) -> bool:
    return bool(before and after) and all(
        (character.isalnum() or character == "_") and category(character) != "Lo" for character in before + after
    )


def names_in(text: str) -> list[str]:
    """Runs of capitalised words, in the order they first occur.

    The first word of a sentence is capitalised anyway: alone it counts where it is a name elsewhere in the text, or
    where a verb such as "is" follows it.
    """
    words = list(WORD.finditer(text))
    runs, elsewhere = [], set()
    for number, word in enumerate(words):
        written = POSSESSIVE.sub("", word[0])
        before = text[words[number - 1].end() if number else 0 : word.start()]
        if not written[0].isupper() or written.lower() in NO_NAMES:
            continue
        is_first = number == 0 or SENTENCE_END.search(before) is not None
        follows_run = bool(runs) and runs[-1][1] == number - 1 and before.isspace() and not is_first
        if follows_run:
            runs[-1] = (runs[-1][0], number, runs[-1][2])
        else:
            runs.append((number, number, is_first))
        if not is_first:
            elsewhere.add(written)
    found = []
    for first, last, is_first in runs:
        name = POSSESSIVE.sub("", text[words[first].start() : words[last].end()])
        following = words[last + 1][0].lower() if last + 1 < len(words) else ""
        is_possessive = words[last][0] != name and first == last
        if first < last or not is_first or name in elsewhere or following in VERBS or is_possessive:
            found.append(name)
    return list(dict.fromkeys(found))
