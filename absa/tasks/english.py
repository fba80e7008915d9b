"""The words of English reviews, as the authors of AF-LSTM have them in their splits of SemEval-2014.

They took NLTK's words, in lower case, and then the characters out of these that are no letters or digits: "don't" is
"do" and "nt", "top-notch" is "topnotch". NLTK also divides what ends a sentence without a blank ("food.Awesome").
"""

from collections.abc import Iterable

from tokenizers import Regex
from tokenizers.normalizers import NFKD, Lowercase, Replace, Sequence, StripAccents
from tokenizers.pre_tokenizers import WhitespaceSplit

from absa.word_vectors import UNKNOWN, Aliases, Words

WORDLESS = (r"\A[^\p{L}\p{N}]+\z", " ")  # signs alone, which all rules together would leave nothing of
RULES = (
    (r"[\u2018\u2019`]", "'"),
    (r"(?<=\bcan)(?=not\b)|(?<=\w)(?=n't\b)", " "),  # of no width, so that offsets hold
    (r"'(?=(?:s|m|d|re|ve|ll)\b)", " "),
    (r"--+|\.\.+|[;@#$%&?!()\[\]{}<>\"“”…]|[:,](?!\d)", " "),
    (r"[^\p{L}\p{N}\s]+", ""),
    (r"\A\s*\z", UNKNOWN),  # a model needs a word
)
# "nt" alone is the Northern Territory in GloVe. WordPieces have apostrophes apart, so that "n't" has none of its own.
ALIASES = {word: Aliases(of_words=f"'{word}", of_pieces=word) for word in ("s", "m", "d", "re", "ve", "ll")}
ALIASES["nt"] = Aliases(of_words="n't", of_pieces="not")


def english_words(texts: Iterable[str]) -> Words:
    """What a model that reads pairs of texts knows the words of."""
    wordless, *replacements = (Replace(Regex(pattern), by) for pattern, by in (WORDLESS, *RULES))
    normalizer = Sequence([wordless, NFKD(), StripAccents(), Lowercase(), *replacements])
    return Words(texts, normalizer, WhitespaceSplit(), ALIASES, has_pairs=True)
