"""The pipeline: its answers are those of the model for each row alone, whatever the batch; what goes in and out."""

import copy
import json
import warnings
from itertools import chain, count, islice

import pandas as pd
import pyarrow as pa
import pytest
import torch
from datasets import Dataset
from torch.utils.data import Dataset as MapStyle
from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification, pipeline
from transformers.pipelines.pt_utils import KeyDataset

from modeling_qacg_bert import AspectSentimentPipeline, Contexts, encode
from modeling_qacg_bert.pipeline_qacg_bert import NoTargetWarning

TARGETS = ["LOCATION1", "LOCATION2"]
ASPECTS = ["general", "price", "transit-location", "safety"]
LABELS = {0: "none", 1: "positive", 2: "negative"}
TEXTS = [
    "LOCATION1 is safe",
    "nothing here",
    "LOCATION2 is dear, but LOCATION1 is not: it is cheap and near and nice!",
    "",
    "LOCATION1",
    "LOCATION2 and LOCATION1 and " + "safe and dear and " * 30,
]
KEYS = ["target", "aspect", "label", "score", "present", "sentiment", "probabilities", "truncated"]


@pytest.fixture(scope="module")
def tokenizer(tiny_bert):
    return AutoTokenizer.from_pretrained(tiny_bert)


@pytest.fixture(scope="module")
def make_pipe(make_model, tokenizer):
    """A pipeline over a tiny model of a kind, with changes to its configuration."""

    def make(kind: str = "qacg", parameters=None, **changes):
        fields = {
            "vocab_size": len(tokenizer),
            "max_position_embeddings": 64,
            "targets": TARGETS,
            "aspects": ASPECTS,
            "id2label": LABELS,
            "num_contexts": None,
            **changes,
        }
        fields.pop("num_labels", None)
        if kind == "bert":
            torch.manual_seed(0)
            sizes = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48}
            config = BertConfig(**sizes, **fields, initializer_range=0.2, auxiliary_sentence=True)
            model = BertForSequenceClassification(config)
        else:
            model = make_model(kind, "sdpa", num_labels=len(fields["id2label"]), **fields)
        return AspectSentimentPipeline(model=model, tokenizer=tokenizer, **(parameters or {}))

    return make


@pytest.fixture(scope="module")
def pipe(make_pipe):
    return make_pipe(calibration_temperature=1.7)


def alone(pipe, text: str, target: str, aspect: str) -> torch.Tensor:
    """Logits of one row in a batch of its own."""
    config = pipe.model.config
    contexts = Contexts.from_config(config)
    auxiliary = config.auxiliary_sentence
    rows = encode(pipe.tokenizer, contexts, [text], [target], [aspect], auxiliary_sentence=auxiliary, max_length=64)
    if config.model_type == "bert":
        del rows["context_ids"]
    with torch.no_grad():
        return pipe.model(**{name: torch.tensor(column) for name, column in rows.items()}).logits[0].double()


def rounded(answers):
    """Answers whose numbers do not depend on the batch they were computed in."""
    if isinstance(answers, float):
        return round(answers, 5)
    if isinstance(answers, dict):
        return {key: rounded(value) for key, value in answers.items()}
    return [rounded(answer) for answer in answers] if isinstance(answers, list) else answers


@pytest.mark.parametrize("batch_size", [1, 3, 100])
@pytest.mark.parametrize(
    ("kind", "changes"),
    [
        ("qacg", {}),
        ("cg", {}),
        ("bert", {}),
        ("qacg", {"auxiliary_sentence": False}),
        ("cg", {"auxiliary_sentence": False, "num_context_layers": 1}),
        ("qacg", {"auxiliary_sentence": False, "symmetric_targets": True}),
        ("bert", {"symmetric_targets": True}),
    ],
    ids=["qacg", "cg", "bert", "qacg-together", "cg-together", "qacg-symmetric", "bert-symmetric"],
)
def test_answers_are_those_of_each_row_alone(make_pipe, kind, changes, batch_size):
    pipe = make_pipe(kind, calibration_temperature=1.7, **changes)
    all_answers = pipe(TEXTS, return_all=True, batch_size=batch_size)
    assert [len(answers) for answers in all_answers] == [4, 0, 8, 0, 4, 8]
    for text, answers in zip(TEXTS, all_answers, strict=True):
        found = [target for target in TARGETS if target in text]
        pairs = [(target, aspect) for target in found for aspect in ASPECTS]
        assert [(answer["target"], answer["aspect"]) for answer in answers] == pairs
        for answer, pair in zip(answers, pairs, strict=True):
            assert list(answer) == KEYS
            expected = (alone(pipe, text, *pair) / 1.7).softmax(-1)
            given = torch.tensor([answer["probabilities"][label] for label in LABELS.values()]).double()
            torch.testing.assert_close(given, expected, rtol=0, atol=1e-5)
            assert answer["label"] == LABELS[int(expected.argmax())]
            assert answer["score"] == max(answer["probabilities"].values())
            assert answer["present"] == pytest.approx(1 - float(expected[0]), abs=1e-5)
            for label in ("positive", "negative"):
                share = answer["probabilities"][label] / answer["present"]
                assert answer["sentiment"][label] == pytest.approx(share, abs=1e-6)
            assert answer["truncated"] is (len(text) > 200)


@pytest.mark.parametrize("kind", ["qacg", "bert"])
@pytest.mark.parametrize("explain", [False, "gradient"])
def test_the_tokenizers_padding_side_changes_no_answer(make_pipe, kind: str, explain):
    right, left = make_pipe(kind), make_pipe(kind)
    left.tokenizer = copy.deepcopy(left.tokenizer)
    left.tokenizer.padding_side = "left"
    expected, given = (pipe(TEXTS, return_all=True, explain=explain, batch_size=8) for pipe in (right, left))
    for one, other in zip(chain(*given), chain(*expected), strict=True):
        assert one["probabilities"] == pytest.approx(other["probabilities"], abs=1e-6)
        if explain:
            relevance = [[word["relevance"] for word in answer["words"]] for answer in (one, other)]
            assert relevance[0] == pytest.approx(relevance[1], abs=1e-5)


def test_the_label_that_says_none_may_have_any_name(make_pipe):
    for answer in make_pipe(none_label="negative")(TEXTS[2], return_all=True):
        assert answer["present"] == pytest.approx(1 - answer["probabilities"]["negative"])
        assert list(answer["sentiment"]) == ["none", "positive"]
    labels = [answer["label"] for answer in make_pipe()(TEXTS[2], return_all=True)]
    for none_label in ("none", "positive", "negative"):
        given = make_pipe(none_label=none_label)(TEXTS[2])
        assert [answer["label"] for answer in given] == [label for label in labels if label != none_label]
    without = make_pipe(none_label=None)
    assert [answer["label"] for answer in without(TEXTS[2])] == labels
    assert [answer["label"] for answer in without(TEXTS[2], abstain_below=1.0)] == [None] * len(labels)
    assert {answer["present"] for answer in without(TEXTS[2])} == {1.0}


@pytest.mark.parametrize(
    ("batch_size", "shapes"),
    [
        (8, [(1, 8), (1, 8), (2, 4)]),  # two texts of eight contexts and two of four
        (32, [(4, 8)]),
        (3, [(1, 3)] * 6 + [(1, 2)] * 2 + [(2, 1)]),  # 8 = 3 + 3 + 2 and 4 = 3 + 1, twice each
    ],
)
def test_the_contexts_of_a_text_share_a_pass(make_pipe, monkeypatch, batch_size, shapes):
    pipe = make_pipe(auxiliary_sentence=False)
    seen = []
    monkeypatch.setattr(
        pipe.model.bert.context_embeddings,
        "forward",
        lambda ids, _, look_up=pipe.model.bert.context_embeddings.forward: (
            seen.append(tuple(ids.shape)) or look_up(ids, len(ids))
        ),
    )
    pipe(TEXTS, batch_size=batch_size)
    assert sorted(seen) == sorted(shapes)


@pytest.mark.parametrize("explain", [False, "gradient", "attention"])
@pytest.mark.parametrize(("kind", "auxiliary_sentence"), [("qacg", True), ("qacg", False), ("bert", True)])
def test_to_exchange_symmetric_targets_is_to_exchange_their_answers(make_pipe, kind, auxiliary_sentence, explain):
    """Bit for bit, where the batches are alike: the mean over both ways of asking is either of them."""
    changes = {"auxiliary_sentence": auxiliary_sentence} if kind == "qacg" else {}
    pipe = make_pipe(kind, symmetric_targets=True, **changes)
    text = "LOCATION2 is dear, but LOCATION1 is not: it is cheap and near and nice!"
    exchanged = text.translate(str.maketrans("12", "21"))
    one, other = (pipe(text, return_all=True, explain=explain, batch_size=1) for text in (text, exchanged))
    for answer in other:
        answer["target"] = answer["target"].translate(str.maketrans("12", "21"))
        for word in answer.get("words", []):
            word["word"] = word["word"].translate(str.maketrans("12", "21"))
    assert one == other[4:] + other[:4]
    assert [answer["probabilities"] for answer in one[:4]] != [answer["probabilities"] for answer in one[4:]]


def test_a_symmetric_target_beyond_what_is_read_is_not_answered(make_pipe):
    pipe = make_pipe(targets=["B", "A rather long name"], symmetric_targets=True, auxiliary_sentence=False)
    text = "A rather long name " + "is safe " * 40 + "and B"
    labels = {answer["target"]: answer["label"] for answer in pipe(text, return_all=True, aspects=["price"])}
    assert labels["A rather long name"] in LABELS.values()
    assert labels["B"] is None


def test_answers_of_none_are_dropped_unless_asked_for(pipe):
    everything = pipe(TEXTS[2], return_all=True)
    assert {answer["label"] for answer in everything} > {"none"}, "this text must have answers of both kinds"
    assert pipe(TEXTS[2]) == [answer for answer in everything if answer["label"] != "none"]


def test_parameters_of_the_construction_hold_until_a_call_has_others(make_pipe):
    pipe = make_pipe(parameters={"return_all": True, "aspects": ["price"], "batch_size": 2})
    assert [answer["aspect"] for answer in pipe(TEXTS[0])] == ["price"]
    assert [answer["aspect"] for answer in pipe(TEXTS[0], aspects=["safety", "general"])] == ["general", "safety"]
    assert [answer["aspect"] for answer in pipe(TEXTS[0])] == ["price"]


def test_targets_restrict_what_is_found(pipe):
    answers = pipe([TEXTS[0], TEXTS[2]], targets=["LOCATION2"], return_all=True)
    assert [[answer["target"] for answer in one] for one in answers] == [[], ["LOCATION2"] * 4]


def test_own_names_are_answered_as_the_target_they_stand_for(pipe):
    names = {"Camden": "LOCATION1", "King's Cross": "LOCATION2", "Soho": "LOCATION1"}
    text = "Camden is dear, King's Cross is near, soho is nice"
    answers = pipe(text, targets=names, aspects=["price"], return_all=True)
    assert [answer["target"] for answer in answers] == ["Camden", "King's Cross", "Soho"]
    written = [
        ("LOCATION1 is dear, LOCATION2 is near, soho is nice", "LOCATION1"),
        ("LOCATION1 is dear, LOCATION2 is near, soho is nice", "LOCATION2"),
        ("Camden is dear, LOCATION2 is near, LOCATION1 is nice", "LOCATION1"),
    ]
    for answer, (as_read, target) in zip(answers, written, strict=True):
        expected = pipe({"text": as_read, "target": target, "aspect": "price"})
        assert answer["probabilities"] == pytest.approx(expected["probabilities"], abs=1e-6)


def test_a_dict_asks_one_question(pipe):
    question = {"text": TEXTS[0], "target": "LOCATION1", "aspect": "safety", "id": 7}
    answer = pipe(question)
    assert rounded(answer) == rounded(pipe(TEXTS[0], return_all=True)[3])
    assert pipe({**question, "target": "LOCATION2"})["target"] == "LOCATION2"  # asked about though not found
    own = pipe({**question, "text": "Camden is safe", "target": "Camden"}, targets={"Camden": "LOCATION1"})
    assert own == {**answer, "target": "Camden"}
    both = pipe([question, TEXTS[0]], return_all=True)
    assert both[0]["aspect"] == "safety"
    assert len(both[1]) == 4


def test_a_model_without_targets(make_pipe):
    pipe = make_pipe(targets=None)
    assert [answer["target"] for answer in pipe("it is safe", return_all=True)] == [""] * 4
    assert pipe({"text": "it is safe", "aspect": "price"})["aspect"] == "price"
    with pytest.raises(ValueError, match="targets 'LOCATION1': unknown to the model; this model has none"):
        pipe("it is safe", targets=["LOCATION1"])


def test_labels_without_none(make_pipe):
    pipe = make_pipe(targets=None, aspects=["price"], id2label={0: "good", 1: "bad"})
    (answer,) = pipe("it is safe")
    assert answer["present"] == 1.0
    assert answer["sentiment"] == pytest.approx(answer["probabilities"])


def test_answers_are_plain_and_serialisable(pipe):
    answers = pipe(TEXTS, return_all=True)
    assert json.loads(json.dumps(answers, allow_nan=False)) == answers


def test_abstention(pipe):
    everything = pipe(TEXTS, return_all=True)
    scores = sorted(answer["score"] for answers in everything for answer in answers)
    threshold = scores[len(scores) // 2]
    for answers, careful in zip(everything, pipe(TEXTS, return_all=True, abstain_below=threshold), strict=True):
        for answer, other in zip(answers, careful, strict=True):
            assert other == {**answer, "label": answer["label"] if answer["score"] >= threshold else None}
    assert pipe(TEXTS[0], abstain_below=1.0) == [{**a, "label": None} for a in pipe(TEXTS[0], return_all=True)]


def test_a_temperature_changes_no_label(make_pipe):
    cold, hot = (make_pipe(calibration_temperature=t)(TEXTS, return_all=True) for t in (0.5, 3.0))
    for one, other in zip(cold, hot, strict=True):
        assert [answer["label"] for answer in one] == [answer["label"] for answer in other]
        assert all(a["score"] > b["score"] for a, b in zip(one, other, strict=True))


def test_lists_columns_and_generators_give_the_same(pipe):
    expected = pipe(TEXTS)
    dataset = Dataset.from_dict({"text": TEXTS})
    assert pipe(tuple(TEXTS)) == expected
    for stream in (dataset["text"], KeyDataset(dataset, "text"), iter(TEXTS)):
        answers = pipe(stream)
        assert next(answers) == expected[0]
        assert list(answers) == expected[1:]
    rows = Dataset.from_dict({"text": TEXTS[:1], "target": ["LOCATION1"], "aspect": ["price"], "label": [0]})
    assert next(pipe(rows))["aspect"] == "price"
    assert pipe([]) == []
    assert pipe("LOCATION1 is dear", targets=[]) == pipe("LOCATION1 is dear", aspects=[], return_all=True) == []


@pytest.mark.parametrize("text", [TEXTS[0], TEXTS[1]], ids=["four questions", "none"])
def test_a_stream_without_end_is_read_by_windows(pipe, text):
    taken = []

    def endless():
        for number in count():
            taken.append(number)
            yield text

    answers = list(islice(pipe(endless(), batch_size=1), 40))
    assert len(answers) == 40
    assert len(taken) < 100


def test_a_progress_bar_counts_texts(pipe, monkeypatch):
    monkeypatch.setattr("modeling_qacg_bert.pipeline_qacg_bert.PROGRESS_AFTER_S", 0)
    bars = []

    class Bar:
        def __init__(self, **options):
            self.options, self.texts = options, 0
            bars.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *_):
            pass

        def update(self):
            self.texts += 1

    monkeypatch.setattr("modeling_qacg_bert.pipeline_qacg_bert.logging.tqdm", Bar)
    pipe(TEXTS)
    list(pipe(iter(TEXTS)))
    assert [(bar.options["total"], bar.texts) for bar in bars] == [(6, 6), (None, 6)]


UNUSUAL_TEXTS = {
    "emoji": "LOCATION1 \U0001f600 \U0001f469\u200d\U0001f469\u200d\U0001f467",
    "right_to_left": "\u202eLOCATION1 \u05de\u05e7\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "nul": "LOCATION1\x00 is\x00safe",
    "lone_surrogate": "LOCATION1 \ud83d",
    "ten_thousand_tokens": "LOCATION1 " + "safe " * 10_000,
}


@pytest.mark.parametrize("text", UNUSUAL_TEXTS.values(), ids=UNUSUAL_TEXTS)
def test_unusual_texts_are_answered(pipe, text):
    answers = pipe(text, return_all=True)
    assert [answer["aspect"] for answer in answers] == ASPECTS
    assert all(0 < answer["score"] <= 1 for answer in answers)
    assert {answer["truncated"] for answer in answers} == {len(text) > 1000}


@pytest.mark.parametrize("text", ["", " \n\t", "\x00\x00", "\u200b\u202e", "\ud83d"])
def test_a_text_with_nothing_to_read_has_no_answers(make_pipe, text):
    pipe = make_pipe(targets=None)  # without targets all other texts have some
    assert pipe(text, return_all=True) == []
    assert [len(answers) for answers in pipe([text, "safe"], return_all=True)] == [0, 4]
    with pytest.raises(ValueError, match=r"input 0: its text is .* a question needs a text with something to read"):
        pipe({"text": text, "aspect": "price"})


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (None, "the input is None"),
        (5, r"the input is 5 \(int\): give a text"),
        (b"LOCATION1", "the input is b'LOCATION1'"),
        (["a", 5.5], r"input 1: it is 5.5 \(float\): give a text or a question"),
        (["a", None], "input 1: it is None"),
        ([["LOCATION1"]], "input 0: it is"),
        ([{"text": "a"}], r"input 0: it has the keys \['text'\], a question needs target, aspect too"),
        ({"text": 3, "target": "LOCATION1", "aspect": "price"}, r"input 0: its text is 3 \(int\)"),
        ({"text": "a", "target": "Soho", "aspect": "price"}, r"target 'Soho' is unknown: give one of \['LOCATION1'"),
        ({"text": "a", "target": "LOCATION1", "aspect": "noise"}, "aspect 'noise' is unknown: give one of"),
    ],
)
def test_bad_inputs(pipe, inputs, message):
    with pytest.raises(ValueError, match=message):
        pipe(inputs)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"targets": ["Soho"]}, ValueError, r"targets 'Soho': unknown to the model; give some of \['LOCATION1'"),
        ({"targets": "LOCATION1"}, ValueError, r"targets='LOCATION1': give a list, \['LOCATION1'\]"),
        ({"targets": {"Camden": "Soho"}}, ValueError, "targets 'Soho': unknown to the model"),
        ({"targets": {"": "LOCATION1"}}, ValueError, "targets has the name ''"),
        ({"aspects": ["price", "noise"]}, ValueError, "aspects 'noise': unknown to the model; give some of"),
        ({"aspects": "price"}, ValueError, r"aspects='price': give a list, \['price'\]"),
        ({"aspects": {"price": "cost"}}, ValueError, r"aspects=\{'price': 'cost'\}: give a list, \['price'\]"),
        ({"return_all": "false"}, ValueError, "return_all='false': give True or False"),
        ({"split_sentences": "true"}, ValueError, "split_sentences='true': give True or False"),
        ({"explain": "false"}, ValueError, "explain='false': give True or one of gradient"),
        ({"batch_size": True}, ValueError, "batch_size=True: give a number of questions"),
        ({"abstain_below": float("nan")}, ValueError, "abstain_below=nan: give a probability"),
        ({"abstain_below": "high"}, ValueError, "abstain_below='high'"),
        ({"batch_size": 0}, ValueError, "batch_size=0: give a number of questions, at least 1"),
        ({"top_k": 3}, TypeError, "top_k: no parameter of aspect-sentiment, which has targets"),
    ],
)
def test_bad_parameters(pipe, parameters, error, message):
    with pytest.raises(error, match=message):
        pipe(TEXTS[0], **parameters)


@pytest.mark.parametrize(
    ("inputs", "parameters"),
    [
        *((TEXTS[0], {name: "x" * 10**6}) for name in ("targets", "aspects", "return_all", "explain", "batch_size")),
        *((TEXTS[0], {name: ["x" * 10**6]}) for name in ("targets", "aspects", "abstain_below")),
        (dict.fromkeys(map(str, range(10**5))), {}),
        (["x" * 10**6, ["x" * 10**6]], {}),
    ],
)
def test_messages_are_short_however_long_the_value_is(pipe, inputs, parameters):
    with pytest.raises(ValueError, match=r"\.\.\.") as error:
        pipe(inputs, **parameters)
    assert len(str(error.value)) < 300


@pytest.mark.parametrize("table", [pd.DataFrame, pa.table])
def test_a_table_is_refused_and_its_column_and_rows_are_taken(pipe, table):
    """Iterated over, a DataFrame gives the names of its columns, which would be answered as texts."""
    columns = {"text": TEXTS[:1], "target": ["LOCATION1"], "aspect": ["price"]}
    with pytest.raises(
        ValueError, match=r"the input is a table \((DataFrame|Table)\): give its column of texts, table\["
    ):
        pipe(table(columns))
    frame = pd.DataFrame(columns)
    assert list(pipe(frame["text"])) == [pipe(TEXTS[0])]
    assert rounded(pipe(frame.to_dict("records"))) == [
        rounded(pipe({name: column[0] for name, column in columns.items()}))
    ]


@pytest.fixture
def warned():
    """The warnings that no text names a target, since the last look."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", NoTargetWarning)

        def look() -> list[str]:
            found = [str(warning.message) for warning in caught if warning.category is NoTargetWarning]
            caught.clear()
            return found

        yield look


REMEDY = "no text names one of the targets LOCATION1, LOCATION2, so that nothing is answered: map the names in your"


def test_a_warning_where_no_text_of_a_call_names_a_target(pipe, warned):
    for inputs in ("Camden is far too expensive.", ["Camden is dear", "", "Camden is safe"]):
        pipe(inputs)
        (message,) = warned()
        assert message.startswith(REMEDY)
        assert message.endswith('targets={"Camden": "LOCATION1"}')
    answers = pipe(text for text in ["Camden", "Soho"])
    assert warned() == []
    assert list(answers) == [[], []]
    assert len(warned()) == 1  # when the stream ends
    pipe("Camden is dear", split_sentences=True)
    assert len(warned()) == 1
    pipe(["Camden", "Soho"], targets={"Leeds": "LOCATION1"})
    (message,) = warned()
    assert message.endswith(
        "the targets Leeds, so that nothing is answered: give them as they are written in the texts"
    )


def test_no_warning_where_one_text_names_a_target_or_none_is_looked_for(make_pipe, pipe, warned):
    pipe(["Camden", "LOCATION1"], aspects=["price"])
    list(pipe(iter(["Camden", {"text": "Camden", "target": "LOCATION1", "aspect": "price"}])))
    pipe("Camden", targets={"Camden": "LOCATION1"})
    pipe(["", " "])
    pipe([])
    pipe("LOCATION1", aspects=[])
    pipe("LOCATION1", targets=[])
    make_pipe(targets=None)("Camden")
    assert warned() == []


def test_the_targets_in_a_text(make_pipe, pipe):
    assert pipe.targets_in("LOCATION2 or LOCATION1?") == TARGETS
    assert pipe.targets_in("LOCATION2 or LOCATION1?", targets=["LOCATION2"]) == ["LOCATION2"]
    assert pipe.targets_in("soho", targets={"Soho": "LOCATION1"}) == ["Soho"]
    assert pipe.targets_in("Camden") == pipe.targets_in("") == []
    assert make_pipe(targets=None).targets_in("Camden") == [""]


@pytest.mark.parametrize("together", [False, True])
def test_a_target_that_is_not_read_is_not_answered(make_pipe, together: bool):
    pipe = make_pipe(auxiliary_sentence=not together)
    long = "LOCATION1 " + "is safe " * 50 + "but LOCATION2 and LOCATION1 are not"
    answers = pipe(long)
    assert all(answer["truncated"] for answer in answers)
    assert {answer["target"] for answer in answers if answer["label"] is not None} <= {"LOCATION1"}
    assert [answer["aspect"] for answer in answers if answer["target"] == "LOCATION2"] == ASPECTS
    assert all(answer["label"] is not None for answer in pipe(long, return_all=True)[:4])
    names = {"Camden": "LOCATION1", "Soho": "LOCATION1"}
    own = pipe("Camden " + "is safe " * 50 + "and Soho", targets=names, return_all=True)
    assert [answer["label"] is None for answer in own] == [False] * 4 + [True] * 4
    question = {"text": long, "target": "LOCATION2", "aspect": "price"}
    assert pipe(question)["label"] is None
    nowhere = pipe({**question, "text": "LOCATION1 " + "is safe " * 50})  # asked about though not found
    assert nowhere["label"] is not None


def test_a_target_at_the_very_end_of_what_is_read(make_pipe):
    pipe = make_pipe(auxiliary_sentence=False)
    for before, is_read in ((59, True), (60, False)):  # 64 tokens: [CLS], the words, location, -, 1, [SEP]
        (answer,) = pipe("dear " * before + "LOCATION1 is safe", aspects=["price"], return_all=True)
        assert answer["truncated"]
        assert (answer["label"] is not None) is is_read


def test_sentences_are_answered_as_alone(pipe):
    text = (
        "  Too noisy! I live in Camden. It is dear.\nDr. Who likes Soho and Camden, e.g. at 5 p.m. in May. No sleep."
    )
    parts = ["Too noisy! I live in Camden. It is dear.", text.split("\n")[1]]
    names = {"Camden": "LOCATION1", "Soho": "LOCATION2"}
    answers = pipe(text, targets=names, split_sentences=True, return_all=True)
    assert list(answers[0]) == [*KEYS, "start", "end"]
    assert [text[answer["start"] : answer["end"]] for answer in answers] == parts[:1] * 4 + parts[1:] * 8
    alone = [answer for part in parts for answer in pipe(part, targets=names, return_all=True)]
    assert rounded([{key: answer[key] for key in KEYS} for answer in answers]) == rounded(alone)
    question = {"text": text, "target": "Soho", "aspect": "price"}
    whole = pipe(question, targets=names, split_sentences=True)
    assert whole == {**pipe(question, targets=names), "start": 0, "end": len(text)}


def test_names_that_clash_with_the_text_are_refused_whether_it_is_split_or_not(pipe):
    for text in ("LOCATION1 is dear. It is safe.", "LOCATION1 is dear. Camden is safe."):
        with pytest.raises(ValueError, match="input 0: the text holds 'LOCATION1'"):
            pipe(text, targets={"Camden": "LOCATION1"}, split_sentences=True)


def test_the_sentences_of_a_long_text_are_all_read(make_pipe):
    pipe = make_pipe()
    text = "LOCATION1 is dear. LOCATION2 is safe. " * 50
    assert any(answer["truncated"] for answer in pipe(text, return_all=True))
    answers = pipe(text, split_sentences=True, return_all=True)
    assert len(answers) == 400
    assert not any(answer["truncated"] for answer in answers)
    without_targets = make_pipe(targets=None)("It is dear. It is safe!", aspects=["price"], split_sentences=True)
    for answer, span in zip(without_targets, [(0, 11), (12, 23)], strict=False):
        assert (answer["start"], answer["end"]) == span


def test_a_name_that_looks_like_the_end_of_a_sentence(pipe):
    text = "Yahoo! Cafe is dear. Safe."
    (answer,) = pipe(
        text, targets={"Yahoo! Cafe": "LOCATION1"}, aspects=["price"], split_sentences=True, return_all=True
    )
    assert (answer["target"], answer["start"], answer["end"]) == ("Yahoo! Cafe", 0, len(text))


class WithoutEnd(MapStyle):
    """Of PyTorch's map-style data sets, which need not raise an IndexError at their end."""

    def __getitem__(self, number: int) -> str:
        return TEXTS[number % 2]


class WithLength(WithoutEnd):
    def __len__(self) -> int:
        return 3


def test_a_map_style_data_set_ends_where_its_length_says(pipe):
    assert list(islice(pipe(WithLength()), 5)) == pipe([TEXTS[0], TEXTS[1], TEXTS[0]])
    with pytest.raises(
        ValueError, match=r"the input is .*\(WithoutEnd\), which has no length: give it a __len__, or a"
    ):
        pipe(WithoutEnd())


def test_a_list_is_checked_before_the_model_runs(pipe, monkeypatch):
    monkeypatch.setattr(pipe, "forward", lambda *_: pytest.fail("the model ran"))
    with pytest.raises(ValueError, match="input 1"):
        pipe(["LOCATION1 is safe", None])


def test_a_stream_gives_all_answers_before_a_bad_input(pipe):
    answers = pipe(iter([TEXTS[0], TEXTS[2], None, TEXTS[0]]))
    assert rounded([next(answers), next(answers)]) == rounded([pipe(TEXTS[0]), pipe(TEXTS[2])])
    with pytest.raises(ValueError, match="input 2: it is None"):
        next(answers)


def test_a_model_in_training_mode_is_put_in_eval_mode(make_model, make_pipe, tokenizer):
    model = make_pipe(hidden_dropout_prob=0.5).model.train()
    pipe = AspectSentimentPipeline(model=model, tokenizer=tokenizer)
    assert pipe(TEXTS[0]) == pipe(TEXTS[0])


def test_it_is_known_to_transformers(pipe, tokenizer):
    named = pipeline("aspect-sentiment", model=pipe.model, tokenizer=tokenizer)
    assert type(named) is AspectSentimentPipeline
    assert named(TEXTS[0]) == pipe(TEXTS[0])


def test_names_that_come_from_a_generator_are_asked(pipe):
    expected = pipe("LOCATION1 is dear", aspects=["price"], targets=["LOCATION1"], return_all=True)
    found = pipe("LOCATION1 is dear", aspects=iter(["price"]), targets=iter(["LOCATION1"]), return_all=True)
    assert found == expected
    assert len(found) == 1
    with pytest.raises(ValueError, match="aspects=5: give a list"):
        pipe("LOCATION1 is dear", aspects=5)


@pytest.mark.parametrize("names", [None, {"Camden": "LOCATION1"}])
@pytest.mark.parametrize("wrong", [{"target": ["Camden"]}, {"aspect": {}}])
def test_a_question_about_what_is_no_name(pipe, names: dict | None, wrong: dict):
    with pytest.raises(ValueError, match=r"input 0: .* give names"):
        pipe({"text": "Camden is dear", "target": "LOCATION1", "aspect": "price", **wrong}, targets=names)


def test_a_model_without_names_of_contexts(make_pipe):
    with pytest.raises(ValueError, match=r"names no aspects: set config\.targets and config.aspects"):
        make_pipe(targets=None, aspects=None, num_contexts=8)
