"""What is drawn of answers."""

import re

from asking import LEFT_OUT, Answer, Explained, Weighed
from drawing import Counts, cards, chart, sentence, why

TEXT = "<b> soup & bread: fine"
SOUP = Answer("soup", 4, 8, "fine", 18, 22, None, "positive", 0.9, {"positive": 0.9, "negative": 0.1})
BOTH = Answer("soup & bread", 4, 16, label="negative", score=0.6)


def pieces(html: str) -> list[tuple[str, str]]:
    """The marks of a text: class and content."""
    return re.findall(r'<mark class="([^"]*)"[^>]*>(.*?)</mark>', html)


def test_spans_that_overlap_and_signs():
    html = sentence(TEXT, [SOUP, BOTH, Answer("soup", 4, 8, label="negative", score=0.5)], None)
    assert pieces(html) == [
        ("target mixed target negative", "soup"),
        ("target negative", " &amp; bread"),
        ("opinion positive", "fine"),
    ]
    assert re.findall(r'data-sign="([^"]*)"', html) == ["+\N{MINUS SIGN}", "\N{MINUS SIGN}"]
    assert re.sub(r"<[^>]*>", "", html) == "&lt;b&gt; soup &amp; bread: fine"


def test_words_behind_an_answer():
    words = [Weighed(11, 16, -0.2), Weighed(18, 22, 0.4), Weighed(9, 10, 0.01)]
    explained = Explained(SOUP, LEFT_OUT, words)
    html = sentence(TEXT, [SOUP], None, explained)
    assert pieces(html) == [
        ("target positive chosen", "soup"),
        ("against", "bread"),
        ("opinion positive chosen for", "fine"),
    ]
    assert re.findall(r'title="([^"]*)"', html) == ["-0.50", "+1.00"]
    assert "without them the answer is less probable. <mark" in why(explained)
    assert "rests on no single word" in why(Explained(SOUP, LEFT_OUT, words[::2]))
    assert "speak against it" not in why(Explained(SOUP, LEFT_OUT, words[2:]))


def test_answers_that_say_nothing_come_last():
    silent = Answer(aspect="price", label="none", score=0.7)
    html = cards([silent, SOUP], "none", ["<note>"])
    assert re.findall(r'data-number="(\d)"', html) == ["1", "0"]
    assert "1 answer <small>" in html
    assert "&lt;note&gt;" in html
    assert "No answer <small>" in cards([silent], "none", [])
    assert "The model finds nothing in this text" in cards([], "none", [])


def test_a_chart_has_what_is_most_frequent():
    counts = Counts()
    for number in range(14):
        counts.add([Answer(f"Dish {number}", 0, 6, label="positive", score=0.9)], truncated=False)
    counts.add([Answer("DISH 13", 0, 7, label="negative", score=0.9)], truncated=True)
    counts.add([], truncated=False)
    html = chart(counts)
    assert re.findall(r'<th scope="row">(.*?)</th>', html)[0] == "dish 13"
    assert html.count("<tr>") == 12
    assert "Without any answer: 1. 2 more are in the file. Too long for the model, their ends not read: 1." in html
    assert "What 16 texts say" in html
