"""The demo as its visitors have it, in headless Chromium."""

import csv
import re
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import expect

import absa

pytestmark = pytest.mark.demo
expect.set_options(timeout=30_000)  # parts of the page are drawn one after the other, slowly on a busy machine
ASPECTS = ["general", "price", "transit-location", "safety"]
TEXT = "Camden is dear but safe, and near Soho."
TAGGER = "#model input[value=tagger]"
DOES = {"places": "aspect by aspect", "food": "each aspect"}  # words of what is said of a model
SHIFTS = """
window.shifts = [];
new PerformanceObserver(list => {
    for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts.push(entry.value);
}).observe({type: 'layout-shift'});
"""


def ask(page, text: str = TEXT):
    """Asks, and waits for what is shown next."""
    page.locator("#sentence .prose > *").first.evaluate("element => element.dataset.before = ''")
    page.get_by_label("Text", exact=True).fill(text)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#sentence .prose > :not([data-before])").first.wait_for()


def upload(page, file: Path):
    """Gives a file, again where the page has just been drawn and nothing listens to it yet."""
    for _ in range(4):
        page.get_by_role("tab", name="Many texts").click()
        with suppress(PlaywrightTimeoutError):
            page.set_input_files("#file input[type=file]", file, timeout=5000)
        with suppress(PlaywrightTimeoutError):  # long enough that an upload on a busy machine is not begun anew
            page.get_by_text(file.name).wait_for(timeout=15_000)
            return
    pytest.fail(f"{file.name} does not show")


def shown(page) -> list[str]:
    """What is read out of each answer."""
    return [button.get_attribute("aria-label") for button in page.locator("#answers button").all()]


def spoken(answer: dict) -> str:
    about = " ".join(filter(None, (answer.get("target"), answer.get("aspect"))))
    opinion = f", {answer['opinion']}" if answer.get("opinion") else ""
    return f"{about}{opinion}: {answer['label']}, {100 * answer['score']:.0f} percent. Show why."


def marked(page, kind: str) -> list[str]:
    """The pieces of the text that have a mark."""
    return page.locator(f"#sentence mark.{kind}").all_inner_texts()


def choose(page, label: str):
    page.get_by_role("button", name=re.compile(f"^{label}")).click()
    page.locator("#why p").wait_for()


def test_type_ask_and_choose_an_answer(open_page, pipe):
    page = open_page()
    ask(page)
    targets = {"Camden": "LOCATION1", "Soho": "LOCATION2"}
    answers = pipe(TEXT, targets=targets, return_all=True)
    says = [answer for answer in answers if answer["label"] != "none"]
    assert 0 < len(says) < len(answers)
    expect(page.locator("#answers button")).to_have_count(len(answers))
    assert shown(page) == [spoken(one) for one in [*says, *(one for one in answers if one not in says)]]
    assert page.locator("#sentence .sentence").inner_text() == TEXT
    assert set(marked(page, "target")) == {"Camden", "Soho"}
    assert page.get_by_label("Names in the text").input_value() == "Camden, Soho"
    assert "Taken for names: Camden, Soho." in page.locator("#answers").inner_text()

    safety = next(one for one in answers if (one["target"], one["aspect"]) == ("Soho", "safety"))
    choose(page, "Soho safety")
    assert f"{safety['label']} Soho · safety" in page.locator("#why").inner_text()
    expect(page.locator("#sentence mark.chosen")).to_have_text(["Soho"])
    assert page.locator("#sentence .sentence").inner_text() == TEXT
    page.get_by_text("For researchers").click()
    question = {"text": TEXT, "target": "Soho", "aspect": "safety"}
    without = pipe({**question, "text": TEXT.replace("dear ", "")}, targets=targets)
    lost = safety["score"] - without["probabilities"][safety["label"]]
    assert weight_of(page, "dear") == pytest.approx(lost, abs=1e-4)
    page.get_by_label("gradient", exact=True).check()
    page.get_by_role("columnheader", name="gradient", exact=True).wait_for()
    words = {word["word"]: word["relevance"] for word in pipe(question, targets=targets, explain=True)["words"]}
    assert weight_of(page, "dear") == pytest.approx(words["dear"], abs=1e-4)

    attention = pipe(question, targets=targets, explain="attention")["words"]
    layer, head = (int(page.get_by_label(name, exact=True).input_value()) for name in ("Layer", "Head"))
    expect(page.locator("#attention tbody th")).to_have_text([word["word"] for word in attention])
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
    page.locator("#sentence mark.against").first.wait_for()


def weight_of(page, word: str) -> float:
    """What the table for researchers has of a word."""
    row = page.locator("#numbers .scrolled tr").filter(has=page.get_by_role("rowheader", name=word, exact=True))
    return float(row.first.locator("td").first.inner_text())


def contexts_shown(page) -> list[float]:
    """What the context adds to or takes from each word."""
    shown = [float(value) for value in page.locator("#attention tbody td:nth-child(4)").all_inner_texts()]
    kinds = [bar.get_attribute("class") for bar in page.locator("#attention tbody i:nth-child(2)").all()]
    assert kinds == ["subtracts" if value < 0 else "adds" for value in shown]
    return shown


@pytest.mark.parametrize(
    ("model", "names"),
    [("tagger", None), ("generator", None), ("af_lstm", "Soho, dear"), ("food", None)],
    ids=["tagger", "generator", "af_lstm", "food"],
)
def test_each_kind_of_model(open_page, folders, model: str, names: str | None):
    page = open_page()
    ask(page)
    choose(page, "Soho safety")
    page.get_by_text("For researchers").click()
    page.get_by_label("gradient", exact=True).check()  # which others do not have
    page.get_by_label(model, exact=True).check()
    page.locator("#sentence .hint").wait_for()  # the other model's answers are gone
    expect(page.locator("#answers button")).to_have_count(0)
    text = "Camden is dear but safe and near Soho!"
    given = {}
    if names:
        page.get_by_label("Words of the text to ask about").fill(names)
        given = {"targets": names.split(", ")}
    ask(page, text)
    opinions = absa.load(str(folders[model]))(text, **given)
    expect(page.locator("#answers button")).to_have_count(len(opinions))
    assert shown(page) == [spoken(asdict(one)) for one in opinions] != []
    words = " ".join(one.target or "" for one in opinions).split()
    assert {*" ".join(marked(page, "target")).split()} == {*words}
    for one in opinions:
        if one.opinion:
            assert one.opinion.split()[0] in " ".join(marked(page, "opinion"))
    for number in (0, -1):
        page.locator("#answers button").nth(number).click()
        page.locator("#answers button").nth(number).and_(page.locator("[aria-pressed=true]")).wait_for()
        page.locator("#why p").wait_for()
        assert page.locator("#sentence .sentence").inner_text() == text
    page.locator("#numbers .tables").wait_for()  # the panel is still open
    expect(page.locator("#layer")).to_be_visible(visible=model == "food")  # which is context-guided
    page.get_by_label("places", exact=True).check()
    page.locator("#sentence .hint").wait_for()
    ask(page)
    expect(page.locator("#answers button")).to_have_count(8)  # with aspects of its own again


@pytest.mark.parametrize("clicked", [["#answers button", TAGGER], [TAGGER, "#answers button"]], ids=["late", "later"])
def test_late_answers_of_the_model_before_are_not_shown(open_page, clicked: list[str]):
    """Nor are they missed, when a click on one arrives after the change of the model."""
    page = open_page()
    ask(page, 6 * TEXT)
    page.locator("#answers button").first.wait_for()
    page.evaluate("all => all.forEach(one => document.querySelectorAll(one).forEach(it => it.click()))", clicked)
    page.locator("#sentence .hint").wait_for()
    page.wait_for_timeout(2000)  # an explanation that is still to come would come
    expect(page.locator("#sentence .hint")).to_be_visible()
    assert page.locator("#why p").count() == 0


@pytest.mark.parametrize("kept", ["Bow", "Monday"])
def test_names_that_were_guessed_are_guessed_anew(open_page, kept: str):
    """But those that the visitor has written stay."""
    page = open_page()
    ask(page, "Camden is dear")
    ask(page, "Bow is dear and Soho was on Monday")
    page.locator("#answers").get_by_text("Taken for names: Bow, Soho").wait_for()
    page.get_by_label("Names in the text").fill(kept)
    page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#answers button").filter(has_text=re.compile("Camden|Soho")).first.wait_for(state="detached")
    assert {name.split()[0] for name in shown(page)} == {kept}


def test_by_keyboard_alone(open_page):
    page = open_page()
    tab_to(page, "document.activeElement.closest('#text') !== null")
    page.keyboard.type(TEXT)
    page.keyboard.press("Shift+Enter")
    page.locator("#answers button").first.wait_for()
    tab_to(page, "document.activeElement.dataset.number === '1'")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.locator("#why p").wait_for()
    assert page.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"
    page.get_by_text("For researchers").wait_for()
    tab_to(page, "document.activeElement.innerText.includes('For researchers')")
    page.keyboard.press("Enter")
    page.locator("#attention table").wait_for()


def tab_to(page, condition: str):
    for _ in range(25):
        page.keyboard.press("Tab")
        if page.evaluate(condition):
            return
    pytest.fail(f"no Tab gets to {condition}")


def test_everything_that_takes_input_has_a_name(open_page):
    page = open_page()
    ask(page)
    page.locator("#answers button").first.click()
    page.get_by_text("For researchers").click()
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
    page.get_by_role("button", name="Hackney is cheap, while Kensington costs a fortune.").click()
    page.locator("#answers button").first.wait_for()
    assert {name.split()[0] for name in shown(page)} == {"Hackney", "Kensington"}
    assert "Taken for names" not in page.locator("#answers").inner_text()
    page.get_by_label("Names in the text").fill("kensington, Leeds")
    page.locator("#aspects").get_by_label("price").uncheck()
    page.get_by_role("button", name="Ask", exact=True).click()
    page.get_by_text("Not in the text: Leeds.").wait_for()
    expected = {f"kensington {aspect}" for aspect in ASPECTS if aspect != "price"}
    assert {name.partition(":")[0] for name in shown(page)} == expected


def test_annotate_a_csv_and_read_it_back(open_page, pipe, tmp_path: Path):
    rows = [{"id": "ä1", "text": f"{name} is dear, she said"} for name in ("Camden", "Soho", "nobody")]
    annotated, page = annotate(open_page, tmp_path, rows, "Camden, Soho")
    targets, expected = {"Camden": "LOCATION1", "Soho": "LOCATION2"}, []
    for row in rows:
        answers = pipe(row["text"], targets=targets)
        expected += [{key: one[key] for key in ("target", "aspect", "label")} for one in answers]
    columns = ("target", "aspect", "label")
    assert [{key: row[key] for key in columns} for row in annotated if row["target"]] == expected
    assert [row["text"] for row in annotated if not row["target"]] == ["nobody is dear, she said"]
    assert all(row["text"].startswith(row["target"]) and row["id"] == "ä1" for row in annotated)
    counted = {aspect: sum(row["aspect"] == aspect for row in annotated) for aspect in ASPECTS}
    assert len(set(counted.values())) > 1
    bars = {bar.locator("th").inner_text(): bar.inner_text() for bar in page.locator("#summary tbody tr").all()}
    for aspect, count in counted.items():
        assert sum(map(int, re.findall(r"\d+", bars.get(aspect, "")))) == count


@pytest.mark.parametrize("model", ["tagger", "generator", "food"])
def test_annotate_a_csv_by_another_model(open_page, folders, tmp_path: Path, model: str):
    rows = [{"text": "Camden is dear but safe and near Soho!"}, {"text": ""}]
    annotated, _ = annotate(open_page, tmp_path, rows, model=model)
    opinions = absa.load(str(folders[model]))([row["text"] for row in rows])
    expected = [asdict(one) for one in opinions[0]]
    for name in ("target", "aspect"):
        assert [row[name] for row in annotated] == [*(one[name] or "" for one in expected), ""]
    for row, one in zip(annotated, expected, strict=False):
        for name in ("target_start", "target_end", "opinion", "opinion_start", "label"):
            assert row[name] == ("" if one[name] is None else str(one[name]))
        assert float(row["score"]) == pytest.approx(one["score"], abs=1e-3)


def annotate(open_page, folder: Path, rows: list[dict], names: str = "", model: str = "places"):
    """What comes back for a csv of these rows, and the page."""
    with (folder / "own.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    page = open_page()
    page.get_by_label(model, exact=True).check()
    page.locator("#does").get_by_text(DOES.get(model, "Finds")).wait_for()
    upload(page, folder / "own.csv")
    if names:
        page.get_by_label("Names in the text").fill(names)
    page.get_by_role("button", name="Annotate").click()
    page.locator("#summary table").wait_for()
    with page.expect_download() as download:
        page.locator("#annotated a").first.click()
    download.value.save_as(folder / "annotated.csv")
    with (folder / "annotated.csv").open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file)), page


@pytest.mark.parametrize("width", [390, 1280])
def test_what_cannot_be_answered_is_said(open_page, tmp_path: Path, width: int):
    page = open_page(viewport={"width": width, "height": 800})
    for text, told in (
        ("Soho is dear. " * 75_000, "The text has 1,050,000 characters: give 5,000 at most."),
        ("nothing that has a name", "No name was found in the text"),
    ):
        ask(page, text)
        assert told in page.get_by_role("alert").inner_text()
        page.wait_for_timeout(1000)
        assert is_seen(page, "[role=alert]")
        assert page.get_by_label("Text", exact=True).input_value() == text  # nothing is lost
        expect(page.locator("#answers button")).to_have_count(0)
        assert page.locator("#result").bounding_box()["height"] < 250 or width > 640  # no void
        ask(page)
        page.locator("#answers button").first.wait_for()  # the next one is answered
        page.get_by_label("Names in the text").fill("")
    (tmp_path / "own.csv").write_bytes("text\nCaf\xe9 Soho\n".encode("latin-1"))
    upload(page, tmp_path / "own.csv")
    page.get_by_role("button", name="Annotate").click()
    assert "Line 2 is not in UTF-8" in page.get_by_role("alert").inner_text()  # the other one is not shown
    page.wait_for_timeout(1000)
    assert is_seen(page, "#summary [role=alert]")


def is_seen(page, selector: str) -> bool:
    """Whether all of an element, or its first 200 pixels, is on the screen."""
    box = page.locator(selector).first.bounding_box()
    return box["y"] >= 0 and box["y"] + min(box["height"], 200) <= page.viewport_size["height"]


def test_on_a_phone_the_page_goes_to_the_answers(open_page):
    page = open_page(viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True)
    assert not is_seen(page, "#result")
    ask(page)
    page.locator("#answers button").first.wait_for()
    page.wait_for_timeout(1000)
    assert is_seen(page, "#sentence .sentence")
    assert is_seen(page, "#answers h3")
    assert page.evaluate("document.activeElement === document.querySelector('#answers h3')")
    page.locator("#answers button").last.scroll_into_view_if_needed()
    page.locator("#answers button").last.click()
    page.locator("#why p").wait_for()
    page.wait_for_timeout(500)
    assert is_seen(page, "#sentence .sentence")


def test_what_is_shown_is_what_was_chosen_last(open_page):
    page = open_page()
    ask(page)
    for aspect in ("price", "safety", "general"):
        page.get_by_role("button", name=re.compile(f"^Soho {aspect}")).click()
    page.locator("#why").get_by_text("Soho · general").wait_for()
    page.wait_for_timeout(500)
    assert "Soho · general" in page.locator("#why").inner_text()
    assert page.locator("#answers [aria-pressed=true]").get_attribute("aria-label").startswith("Soho general")
    for text in ("Camden is dear", "Hackney is safe"):
        page.get_by_label("Text", exact=True).fill(text)
        page.get_by_role("button", name="Ask", exact=True).click()
    page.locator("#answers").get_by_text("Hackney").first.wait_for()
    page.wait_for_timeout(500)
    assert {name.split()[0] for name in shown(page)} == {"Hackney"}
    assert page.locator("#why").inner_text().strip() == ""


def test_what_a_visitor_types_is_text(open_page):
    page = open_page()
    text = '<img src=x onerror="window.hit=1"> Soho <b>&amp; </script><script>window.hit=1</script>${window.hit=1}'
    page.get_by_label("Names in the text").fill("Soho, <b>")
    ask(page, text)
    page.locator("#answers button").first.click()
    page.locator("#why p").wait_for()
    assert page.locator("#sentence .sentence").inner_text() == text
    assert page.evaluate("window.hit") is None
    assert page.locator("#result img, #answers b b").count() == 0


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_layout(open_page, width: int, scheme: str):
    """No sideways scrolling, nothing that moves once it is loaded, and text that can be read on what is behind it."""
    page = open_page(color_scheme=scheme, viewport={"width": width, "height": 800})
    page.get_by_role("button", name="Camden is far").wait_for()
    page.wait_for_timeout(500)
    for part in (".hint p", ".hint mark", "#examples button", "#examples .label", "[role=tab]", "#ask", "#does p"):
        assert min(page.evaluate(CONTRAST, part)) >= 4.5, part  # WCAG 2, AA
    page.evaluate(SHIFTS)
    ask(page)
    page.locator("#answers button").first.click()
    page.locator("#why p").wait_for()
    page.wait_for_timeout(600)  # what comes later than half a second after a click counts as a shift
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    assert sum(page.evaluate("window.shifts")) < 0.1  # "good" by the Web Vitals
    page.get_by_text("For researchers").click()
    page.locator("#attention table").wait_for()
    assert page.evaluate("document.scrollingElement.scrollWidth") <= width
    for part in (
        "#answers button :is(b, small, .sign, .says)",
        "#answers h3 small",
        ".note",
        "#sentence mark",
        "#why :is(p, p *)",
        ".scrolled td",
        ".legend",
    ):
        assert min(page.evaluate(CONTRAST, part)) >= 4.5, part


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
