"""A file of each format, as its module writes it, and how to have files read."""

from collections.abc import Callable
from pathlib import Path

import pytest

from absa.conversion import FORMATS
from datasets_scripts.formats.pivot import Sentence

EXAMPLES = {
    "apc": (
        "train.txt",
        """ Great $T$ but the service was dreadful!
food
Positive
 Great food but the $T$ was dreadful!
service
Negative
The $T$ is a café, 4 € a cup.
café
2
""",
    ),
    "atepc": (
        "train.txt.atepc",
        """Great O -100
food B-ASP Positive
but O -100
the O -100
room B-ASP -100
service I-ASP -100
was O -100
4 O -100
€ O -100
! O -100

Bad B-ASP Negative
tea I-ASP Negative

Bad O -100
tea B-ASP Conflict
""",
    ),
    "bio": (
        "train.conll",
        "Great\tO\nfood\tB-POS\nbut\tO\nthe\tO\nroom\tB-NEG\nservice\tI-NEG\n€\tB-ASP\n\nSo\tO\n\ntea\tB-NEU\ncup\tB-CON\n",
    ),
    "setfit": (
        "train.csv",
        "text,span,label,ordinal\r\n"
        '"The food is good, and so is the food next door.",food,positive,0\r\n'
        '"The food is good, and so is the food next door.",food,negative,1\r\n'
        '"Two\nlines, 4 € a ""cup"".",lines,neutral,0\r\n',
    ),
    "semeval2014": (
        "Restaurants.xml",
        """<?xml version='1.0' encoding='UTF-8'?>
<sentences>
  <sentence id="3121">
    <text>But the staff was so horrible &amp; the €4 tea!</text>
    <aspectTerms>
      <aspectTerm term="staff" polarity="negative" from="8" to="13"/>
      <aspectTerm term="€4 tea" polarity="conflict" from="36" to="42"/>
    </aspectTerms>
    <aspectCategories>
      <aspectCategory category="service" polarity="negative"/>
      <aspectCategory category="service" polarity="negative"/>
    </aspectCategories>
  </sentence>
  <sentence id="b#1">
    <text> Nothing. </text>
  </sentence>
</sentences>
""",
    ),
    "semeval2016": (
        "ABSA16.xml",
        """<?xml version='1.0' encoding='UTF-8'?>
<Reviews>
  <Review rid="1004293">
    <sentences>
      <sentence id="1004293:0">
        <text>Bad food, dear € food.</text>
        <Opinions>
          <Opinion target="food" category="FOOD#QUALITY" polarity="negative" from="4" to="8"/>
          <Opinion target="food" category="FOOD#PRICES" polarity="neutral" from="17" to="21"/>
          <Opinion target="NULL" category="RESTAURANT#GENERAL" polarity="positive" from="0" to="0"/>
        </Opinions>
      </sentence>
      <sentence id="1004293:1" OutOfScope="TRUE">
        <text>The other one is nice.</text>
      </sentence>
    </sentences>
  </Review>
  <Review rid="h_3">
    <sentences>
      <sentence id="h_3#0">
        <text>So.</text>
      </sentence>
    </sentences>
  </Review>
</Reviews>
""",
    ),
    "aste": (
        "train_triplets.txt",
        """Great food but the room service was n't €4 #### .####[([1], [0], 'POS'), ([4, 5], [6, 7], 'NEG')]
So .####[]
Fine tea####[([1], [0], 'NEU')]
""",
    ),
    "sentihood": (
        "sentihood-train.json",
        """[
 {
  "opinions": [
   {
    "sentiment": "Negative",
    "aspect": "price",
    "target_entity": "LOCATION1"
   },
   {
    "sentiment": "Positive",
    "aspect": "nightlife",
    "target_entity": "LOCATION2"
   }
  ],
  "id": 302,
  "text": " LOCATION1 is € € €, LOCATION2 is not"
 },
 {
  "opinions": [],
  "id": "b",
  "text": "I like LOCATION1"
 }
]
""",
    ),
    "brat": (
        "train.ann",
        """T1\tTarget 6 10\tfood
T2\tOpinion 0 5\tGreat
A1\tLabel T1 positive
A2\tAspect T1 FOOD#QUALITY
R1\tJudges Arg1:T2 Arg2:T1
T3\tTarget 16 23\tservice
T4\tOpinion 47 50\tSo!
A3\tLabel T4 neutral
""",
    ),
    "custom": (
        "train.csv",
        "id,text,target,aspect,label\r\n"
        '7,"Good, ""fresh"" € soup",soup,food,positive\r\n'
        '7,"Good, ""fresh"" € soup",,price,none\r\n'
        'b,"Two\nlines",,food,very good\r\n',
    ),
}
TEXTS_OF_BRAT = "Great food, but service was dreadful for 4 € a\nSo!\n"


@pytest.fixture(scope="session")
def examples() -> dict[str, tuple[str, str]]:
    """The name and the text of a file of each format."""
    return EXAMPLES


@pytest.fixture
def read_content(tmp_path: Path) -> Callable[..., list[Sentence]]:
    """Has a format's module read a file of this text, or of these bytes; that of brat beside TEXTS_OF_BRAT."""

    def read(name: str, content: str | bytes, file_name: str | None = None) -> list[Sentence]:
        file = tmp_path / (file_name or EXAMPLES[name][0])
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        if name == "brat":
            file.with_suffix(".txt").write_text(TEXTS_OF_BRAT, encoding="utf-8")
        return FORMATS[name].read(file)

    return read


@pytest.fixture
def write_and_read(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., tuple[list[Sentence], dict[str, int]]]:
    """Has a format's module write sentences, and gives what it reads again, and its notes."""

    def write(name: str, sentences: list[Sentence]) -> tuple[list[Sentence], dict[str, int]]:
        file = tmp_path_factory.mktemp(name) / EXAMPLES[name][0]
        notes = FORMATS[name].write(sentences, file)
        return FORMATS[name].read(file), dict(+notes)

    return write
