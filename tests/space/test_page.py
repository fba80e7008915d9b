"""The demo as its visitors have it, in headless Chromium."""

import csv
import re
from contextlib import suppress
from pathlib import Path

import pytest
from gradio_client import Client
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError

pytestmark = pytest.mark.demo
ASPECTS = ["general", "price", "transit-location", "safety"]
TEXT = "Camden is dear but safe, and near Soho."
SHIFTS = """
window.shifts = [];
new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts.push(entry.value);
}).observe({type: 'layout-shift'});
"""


@pytest.fixture
def open_page(browser, server):
    """Opens the demo; it may load nothing from elsewhere, and no error may reach the console."""
    contexts = []

    def opened(**options):
        context = browser.new_context(**options)
        contexts.append(context)
        page = context.new_page()
        page.problems = []
        page.on("request", lambda request: _note_request(page, server[0], request.url))
        page.on("pageerror", lambda error: page.problems.append(str(error)))
        page.on("console", lambda line: page.problems.append(line.text) if line.type == "error" else None)
        page.goto(server[0])
        page.get_by_label("Text", exact=True).wait_for()
        return page

    yield opened
    for context in contexts:
        assert [page.problems for page in context.pages] == [[]] * len(context.pages)
        context.close()
    assert "Traceback" not in "".join(server[1])


def _note_request(page, own: str, url: str):
    if not url.startswith((own, "data:", "blob:")):
        page.problems.append(f"loads {url}")


def ask(page, text: str = TEXT):
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#answers button, #answers [role=alert]").first.wait_for()


def upload(page, file: Path):
    """Gives a file, again where the page has just been drawn and nothing listens to it yet."""
    page.get_by_role("tab", name="Many texts").click()
    for _ in range(10):
        with suppress(PlaywrightTimeoutError):
            page.set_input_files("#file input[type=file]", file, timeout=3000)
        with suppress(PlaywrightTimeoutError):
            page.get_by_text(file.name).wait_for(timeout=3000)
            return
    pytest.fail(f"{file.name} does not show")


def cells(page) -> list[tuple[str, str, str]]:
    """Target, aspect and what is read out, of each answer."""
    buttons = page.locator("#answers button").all()
    return [
        tuple(button.get_attribute(name) for name in ("data-target", "data-aspect", "aria-label"))
        for button in buttons
    ]


def spoken(answer: dict) -> tuple[str, str, str]:
    about = f"{answer['target']} {answer['aspect']}: {answer['label']}, {100 * answer['score']:.0f} percent."
    return answer["target"], answer["aspect"], f"{about} Show why."


def test_type_ask_and_click_an_answer(open_page, pipe):
    page = open_page()
    ask(page)
    targets = {"Camden": "LOCATION1", "Soho": "LOCATION2"}
    answers = {(answer["target"], answer["aspect"]): answer for answer in pipe(TEXT, targets=targets, return_all=True)}
    expected = [spoken(answers[target, aspect]) for aspect in ASPECTS for target in targets]
    assert cells(page) == expected
    assert page.get_by_role("columnheader").all_inner_texts() == ["aspect", "Camden", "Soho"]
    assert page.get_by_role("rowheader").all_inner_texts() == ASPECTS

    page.get_by_role("button", name=re.compile("^Soho safety")).click()
    page.locator('[data-why="Soho safety"]').wait_for()
    asked = {"text": TEXT, "target": "Soho", "aspect": "safety"}
    explained = pipe(asked, targets=targets, explain=True)
    attention = pipe(asked, targets=targets, explain="attention")["words"]
    marks = page.locator('[data-why="Soho safety"] mark')
    assert marks.all_inner_texts() == [word["word"] for word in explained["words"]]
    greatest = max(word["relevance"] for word in explained["words"])
    shown = [float(mark.get_attribute("title")) for mark in marks.all()]
    assert shown == pytest.approx([word["relevance"] / greatest for word in explained["words"]], abs=0.0051)
    assert page.locator('[data-why="Soho safety"]').inner_text() == TEXT

    layer, head = (int(page.get_by_label(name, exact=True).input_value()) for name in ("Layer", "Head"))
    assert page.locator("#attention tbody th").all_inner_texts() == [word["word"] for word in attention]
    expected = [word["quasi_term"][layer - 1][head - 1] for word in attention]
    assert contexts_shown(page) == pytest.approx(expected, abs=1e-4)
    assert sum(min(0, value) for value in expected) == min(
        sum(min(0, word["quasi_term"][layer][head]) for word in attention) for layer in range(2) for head in range(4)
    )
    other = head % 4 + 1
    page.get_by_label("Head", exact=True).click()
    page.get_by_role("option", name=str(other), exact=True).click()
    page.get_by_role("heading", name=f"layer {layer}, head {other}").wait_for()
    expected = [word["quasi_term"][layer - 1][other - 1] for word in attention]
    assert contexts_shown(page) == pytest.approx(expected, abs=1e-4)
    page.get_by_label("integrated gradients").check()
    page.locator("#relevance mark.against").first.wait_for()


def contexts_shown(page) -> list[float]:
    """What the context adds to or takes from each word."""
    shown = [float(value) for value in page.locator("#attention tbody td:nth-child(4)").all_inner_texts()]
    kinds = [bar.get_attribute("class") for bar in page.locator("#attention tbody i:nth-child(2)").all()]
    assert kinds == ["subtracts" if value < 0 else "adds" for value in shown]
    return shown


def test_by_keyboard_alone(open_page):
    page = open_page()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.closest('#text') !== null"):
            break
    page.keyboard.type(TEXT)
    page.keyboard.press("Shift+Enter")
    page.locator("#answers button").first.wait_for()
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.dataset.aspect === 'price'"):
            break
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.locator('[data-why="Camden price"]').wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_everything_that_takes_input_has_a_name(open_page):
    page = open_page()
    ask(page)
    page.locator("#answers button").first.click()
    page.locator("#attention table").wait_for()
    page.get_by_role("tab", name="Many texts").click()
    page.get_by_role("button", name="Annotate").wait_for()
    nameless = page.evaluate(
        """() => [...document.querySelectorAll('input, textarea, button')].filter(element => !(
            element.innerText || element.ariaLabel || element.title || element.labels?.length
            || element.type === 'file')).map(element => element.outerHTML)"""
    )
    assert nameless == []


def test_an_example_and_names_of_ones_own(open_page):
    page = open_page()
    page.get_by_text("Hackney is cheap, while Kensington costs a fortune.").click()
    page.get_by_label("Names of places").fill("kensington, Leeds")
    page.get_by_label("price").uncheck()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#answers button").first.wait_for()
    assert [(target, aspect) for target, aspect, _ in cells(page)] == [
        ("kensington", aspect) for aspect in ASPECTS if aspect != "price"
    ]
    assert "Not in the text: Leeds." in page.locator("#answers").inner_text()


def test_annotate_a_csv_and_read_it_back(open_page, pipe, tmp_path: Path):
    head = {"id": "id", "text": "text"}
    rows = [{"id": "ä1", "text": f"{name} is dear, she said"} for name in ("Camden", "Soho", "nobody")]
    (tmp_path / "own.csv").write_text("".join(f'{row["id"]},"{row["text"]}"\n' for row in [head, *rows]), "utf-8")
    page = open_page()
    upload(page, tmp_path / "own.csv")
    page.get_by_role("button", name="Annotate").click()
    page.locator("#summary table").wait_for()
    with page.expect_download() as download:
        page.locator("#result a").first.click()
    download.value.save_as(tmp_path / "annotated.csv")
    with (tmp_path / "annotated.csv").open(encoding="utf-8-sig", newline="") as file:
        annotated = list(csv.DictReader(file))

    expected = []
    for row, name in zip(rows, ("Camden", "Soho", None), strict=True):
        answers = pipe(row["text"], targets={name: "LOCATION1"}) if name else []
        expected += [
            row
            | {key: answer[key] for key in ("target", "aspect", "label")}
            | {"score": f"{answer['score']:.4f}", "truncated": "no"}
            for answer in answers
        ] or [row | dict.fromkeys(("target", "aspect", "label", "score", "truncated"), "")]
    assert annotated == expected
    counted = {aspect: sum(row["aspect"] == aspect for row in annotated) for aspect in ASPECTS}
    assert len(set(counted.values())) > 1
    bars = page.locator("#summary tbody tr").all()
    shown = {bar.locator("th").inner_text(): bar.locator("td").last.inner_text() for bar in bars}
    for aspect, count in counted.items():
        assert sum(map(int, re.findall(r"\d+", shown[aspect]))) == count


def test_what_cannot_be_answered_is_said(open_page, tmp_path: Path):
    page = open_page()
    for text, told in (
        ("Soho is dear. " * 75_000, "The text has 1,050,000 characters: give 5,000 at most."),
        ("nothing that has a name", "No name was found in the text"),
    ):
        ask(page, text)
        assert told in page.get_by_role("alert").inner_text()
        ask(page)
        page.locator("#answers button").first.wait_for()  # the next one is answered
    (tmp_path / "own.csv").write_bytes("text\nCaf\xe9 Soho\n".encode("latin-1"))
    upload(page, tmp_path / "own.csv")
    page.get_by_role("button", name="Annotate").click()
    assert "Line 2 is not in UTF-8" in page.locator("#summary").get_by_role("alert").inner_text()


def test_what_is_shown_is_what_was_chosen_last(open_page):
    page = open_page()
    ask(page)
    for aspect in ("price", "safety", "general"):
        page.get_by_role("button", name=re.compile(f"^Soho {aspect}")).click()
    page.get_by_label("integrated gradients").check()  # before the first is there
    page.get_by_role("heading", name=re.compile("of Soho general, by integrated gradients")).wait_for()
    page.wait_for_timeout(500)
    assert page.locator("#relevance h3").inner_text().endswith("of Soho general, by integrated gradients")
    assert page.locator("#answers [aria-pressed=true]").get_attribute("data-aspect") == "general"
    for text in ("Camden is dear", "Hackney is safe"):
        page.get_by_label("Text", exact=True).fill(text)
        page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_role("columnheader", name="Hackney").wait_for()
    page.wait_for_timeout(500)
    assert {target for target, _, _ in cells(page)} == {"Hackney"}


def test_what_a_visitor_types_is_text(open_page):
    page = open_page()
    text = '<img src=x onerror="window.hit=1"> Soho <b>&amp; </script><script>window.hit=1</script>${window.hit=1}'
    page.get_by_label("Names of places").fill("Soho, <b>")
    ask(page, text)
    page.locator("#answers button").first.click()
    page.locator("#relevance mark").first.wait_for()
    assert page.locator("#relevance .text").inner_text() == text
    assert page.evaluate("window.hit") is None
    assert page.locator("#answers img, #relevance img, #answers b b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1000])
def test_layout(open_page, width: int, scheme: str):
    """No sideways scrolling, nothing that moves once it is loaded, and text that can be read on what is behind it."""
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.get_by_role("button", name="Camden is far").wait_for()
    page.wait_for_timeout(500)
    page.evaluate(SHIFTS)
    ask(page)
    page.locator("#answers button").first.click()
    page.locator("#attention table").wait_for()
    page.wait_for_timeout(600)  # what comes later than half a second after a click counts as a shift
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert sum(page.evaluate("window.shifts")) < 0.1  # "good" by the Web Vitals
    for part in ("button b", "button small", "caption", "#relevance mark", "#attention td", ".legend"):
        assert min(page.evaluate(CONTRAST, part)) >= 4.5, part  # WCAG 2, AA


CONTRAST = """selector => {
    const parse = color => { const [r, g, b, a] = color.match(/[\\d.]+/g).map(Number); return [r, g, b, a ?? 1]; };
    const over = (top, below) => [0, 1, 2].map(i => top[i] * top[3] + below[i] * (1 - top[3]));
    const luminance = color => color.map(value => value / 255)
        .map(value => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4)
        .reduce((sum, value, i) => sum + value * [0.2126, 0.7152, 0.0722][i], 0);
    return [...document.querySelectorAll(selector)].filter(element => element.checkVisibility()).map(element => {
        const layers = [];
        let opacity = 1;
        for (let at = element; at; at = at.parentElement) {
            layers.unshift(parse(getComputedStyle(at).backgroundColor));
            opacity *= getComputedStyle(at).opacity;
        }
        const behind = layers.reduce((below, layer) => over(layer, below), [255, 255, 255]);
        const ink = parse(getComputedStyle(element).color);
        const [one, other] = [over([ink[0], ink[1], ink[2], ink[3] * opacity], behind), behind].map(luminance);
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    });
}"""


def test_callers_who_leave_things_out_are_told(server):
    client = Client(server[0], verbose=False)
    for text, names, told in (
        (None, None, "There is nothing to read"),
        ("Soho is dear", "x" * 2000, "A name has 2,000 characters"),
        ("Soho is dear", None, "aria-label"),
    ):
        assert told in client.predict(text, names, ASPECTS, api_name="/ask")[0]
    assert "Give a csv file first" in client.predict(None, None, None, ASPECTS, api_name="/annotate")[0]
    assert "Traceback" not in "".join(server[1])


def test_a_model_that_is_not_there(run_script, tmp_path: Path, monkeypatch):
    monkeypatch.setenv("MODEL", str(tmp_path / "absent"))
    finished = run_script("examples/space/app.py", check=False)
    assert finished.returncode == 1
    assert f"MODEL='{tmp_path / 'absent'}' is no classifier" in finished.stderr
    assert "Traceback" not in finished.stderr
