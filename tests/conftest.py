"""Fixtures shared by all tests; scripts run as a user runs them, on a tiny BERT and a few rows."""

import importlib.util
import json
import os
import runpy
import string
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType

import pytest
import torch
from filelock import FileLock
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from tokenizers.models import BPE, Unigram
from tokenizers.pre_tokenizers import ByteLevel, Metaspace
from tokenizers.trainers import BpeTrainer, UnigramTrainer
from transformers import (
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoModelForTokenClassification,
    AutoTokenizer,
    BartConfig,
    BartTokenizer,
    BertConfig,
    BertForMaskedLM,
    BertModel,
    BertTokenizer,
    GenerationMixin,
    T5Config,
    T5Tokenizer,
)

from absa import models
from absa.tasks.classification import describe
from absa.tasks.english import english_words
from absa.word_vectors import RANDOM, words_and_vectors
from modeling_af_lstm import AFLstmConfig
from modeling_global_context import labels_of
from modeling_qacg_bert import Contexts

REPO_ROOT = Path(__file__).resolve().parents[1]
OFFLINE = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
OPINIONS = {
    "safe": ("safety", "Positive"),
    "dangerous": ("safety", "Negative"),
    "cheap": ("price", "Positive"),
    "dear": ("price", "Negative"),
    "near": ("transit-location", "Positive"),
    "far": ("transit-location", "Negative"),
    "nice": ("general", "Positive"),
    "dull": ("general", "Negative"),
}
TAKE_LONG = {"test_quickstart.py", "test_killed.py"}
TOKEN = "hf_" + "NeverShowThis" * 3
WORDS = ["location", "price", "safety", "general", "transit", "and", "is", "but", *OPINIONS]


def pytest_collection_modifyitems(items: list[pytest.Item]):
    """What takes minutes comes first, so that one worker does not wait for the other at the end."""
    items.sort(key=lambda item: item.path.name not in TAKE_LONG)


@pytest.fixture(autouse=True, scope="session")
def _one_thread():
    """Tensors of tests are several times slower on two threads."""
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def naive(request: pytest.FixtureRequest) -> ModuleType:
    """naive.py beside the tests: the plain reference of a family."""
    file = request.path.with_name("naive.py")
    spec = importlib.util.spec_from_file_location(f"naive_{file.parent.name}", file)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def repo_root() -> Path:
    return REPO_ROOT


@pytest.fixture(scope="session")
def shared_dir() -> Path:
    """Folder of the public data sets and of numbers computed with others' code, which are not in this repo."""
    folder = Path(os.environ.get("ABSA_SHARED_DIR", REPO_ROOT.parent / "shared"))
    if not folder.is_dir():
        pytest.skip(f"{folder} is absent: set ABSA_SHARED_DIR to the folder with data/, golden/, reference_outputs/")
    return folder


def save_tiny_bert(folder: Path, model_class=BertModel) -> Path:
    """A BERT of two layers with a tokenizer that knows every letter, saved as a user would have it."""
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = [*special, *LETTERS, *(f"##{c}" for c in LETTERS), *"-,.!?'", *WORDS]
    tokenizer = BertTokenizer(vocab={token: number for number, token in enumerate(vocabulary)}, model_max_length=64)
    config = BertConfig(
        vocab_size=len(vocabulary),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    torch.manual_seed(0)
    model_class(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory) -> Path:
    return save_tiny_bert(tmp_path_factory.mktemp("tiny_bert"))


@pytest.fixture(scope="session")
def bert_without_pooler(tmp_path_factory) -> Path:
    """What masked-language-model checkpoints look like: complete but for the pooler."""
    return save_tiny_bert(tmp_path_factory.mktemp("bert_without_pooler"), BertForMaskedLM)


@pytest.fixture(scope="session")
def tiny_classifier(tmp_path_factory, tiny_bert: Path) -> Path:
    """A checkpoint of an untrained QACG-BERT for SentiHood, as training saves it."""
    contexts = Contexts(("LOCATION1", "LOCATION2"), ("general", "price", "transit-location", "safety"))
    config = models.build_config("qacg_bert", str(tiny_bert), describe(contexts, ["none", "positive", "negative"]))
    folder = tmp_path_factory.mktemp("tiny_classifier")
    torch.manual_seed(0)
    models.load_model(str(tiny_bert), config, "sdpa").save_pretrained(folder)
    models.load_tokenizer(str(tiny_bert), config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def make_checkpoint(tiny_classifier: Path, tmp_path_factory) -> Callable[..., Path]:
    """`tiny_classifier` as if trained, to the eye: with weights, and perhaps a bias of the labels, of some size."""

    def make(std: float = 0.1, label_bias: list[float] | None = None) -> Path:
        model = AutoModelForSequenceClassification.from_pretrained(tiny_classifier)
        torch.manual_seed(0)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += std * torch.randn_like(parameter)
            if label_bias is not None:
                model.classifier.bias.copy_(torch.tensor(label_bias))
        folder = tmp_path_factory.mktemp("checkpoint")
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(tiny_classifier).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def make_tagger(tiny_bert: Path, tmp_path_factory) -> Callable[..., Path]:
    """A checkpoint of a tagger as if trained, to the eye: it finds something in most texts."""

    def make(labels: list[str]) -> Path:
        named = {"id2label": dict(enumerate(labels)), "label2id": {label: n for n, label in enumerate(labels)}}
        config = models.build_config("global_context", str(tiny_bert), named, overrides="lstm_size=12")
        torch.manual_seed(0)
        model = models.load_model(str(tiny_bert), config, "sdpa", auto_class=AutoModelForTokenClassification)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.3 * torch.randn_like(parameter)
            model.classifier.bias[[n for n, label in enumerate(labels) if label.startswith(("B-", "S-"))]] += 2
        folder = tmp_path_factory.mktemp("tagger")
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def tiny_tagger(make_tagger) -> Path:
    """A checkpoint of a tagger of aspect terms."""
    return make_tagger(labels_of("BIEOS", ["POS", "NEG", "NEU"]))


@pytest.fixture(scope="session")
def make_generator(tiny_bert: Path, tmp_path_factory) -> Callable[..., Path]:
    """A checkpoint of a pointer model as if trained, to the eye: it finds something in most texts."""

    def make(*tasks: str) -> Path:
        described = {"tasks": list(tasks), "max_tuples": 3, "initializer_range": 0.2}
        config = models.build_config("pointer_absa", str(tiny_bert), described, overrides="decoder_heads=4")
        torch.manual_seed(0)
        model = models.load_model(str(tiny_bert), config, "sdpa", auto_class=AutoModelForSeq2SeqLM)
        with torch.no_grad():
            for parameter in model.parameters():
                parameter += 0.1 * torch.randn_like(parameter)
        folder = tmp_path_factory.mktemp("generator")
        model.save_pretrained(folder)
        AutoTokenizer.from_pretrained(tiny_bert).save_pretrained(folder)
        return folder

    return make


@pytest.fixture
def asked_of_generate(monkeypatch) -> list[dict]:
    """The options of each call of `generate` of Transformers, as it comes."""
    asked, generate = [], GenerationMixin.generate

    def note(self, *args, **options):
        asked.append(options)
        return generate(self, *args, **options)

    monkeypatch.setattr(GenerationMixin, "generate", note)
    return asked


@pytest.fixture(scope="session")
def make_text_model(tmp_path_factory) -> Callable[..., Path]:
    """A checkpoint of a tiny BART or T5 with random weights, whose tokenizer has learned few pieces of some texts.

    BART's writes bytes, T5's knows some signs only.
    """

    def make(kind: str, texts: list[str], size: int = 16, init: float = 1.0) -> Path:
        lines = [*texts, *string.printable.split(), "positive negative neutral none ; :"]
        special = ["<s>", "<pad>", "</s>", "<unk>"] if kind == "bart" else ["<pad>", "</s>", "<unk>"]
        trained = Tokenizer(BPE() if kind == "bart" else Unigram())
        if kind == "bart":
            trained.pre_tokenizer = ByteLevel(add_prefix_space=False)
            options = {"vocab_size": 400, "initial_alphabet": ByteLevel.alphabet()}
            trained.train_from_iterator(lines, BpeTrainer(special_tokens=special, **options))
        else:
            trained.pre_tokenizer = Metaspace()
            options = {"vocab_size": 150, "unk_token": "<unk>"}
            trained.train_from_iterator(lines, UnigramTrainer(special_tokens=special, **options))
        learned = json.loads(trained.to_str())["model"]
        torch.manual_seed(0)
        if kind == "bart":
            merges = [tuple(pair) for pair in learned["merges"]]
            tokenizer = BartTokenizer(vocab=learned["vocab"], merges=merges)
            sizes = {"ffn_dim": size, "layers": 1, "attention_heads": 1}
            sides = {f"{side}_{name}": value for side in ("encoder", "decoder") for name, value in sizes.items()}
            config = BartConfig(
                vocab_size=len(tokenizer), d_model=size, init_std=init, max_position_embeddings=128, **sides
            )
        else:
            tokenizer = T5Tokenizer(vocab=[tuple(piece) for piece in learned["vocab"]], extra_ids=0)
            sizes = {"d_model": size, "d_kv": 8, "d_ff": size, "num_layers": 1, "num_heads": 2}
            config = T5Config(
                vocab_size=len(tokenizer), decoder_start_token_id=0, initializer_factor=5 * init, **sizes
            )
        folder = tmp_path_factory.mktemp(kind)
        AutoModelForSeq2SeqLM.from_config(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return make


@pytest.fixture(scope="session")
def tiny_laptop14(tmp_path_factory) -> Path:
    """Sixteen sentences a split in the format of E2E-ABSA, one aspect term each."""
    folder = tmp_path_factory.mktemp("tiny_e2e_absa")
    (folder / "laptop14").mkdir()
    for number, split in enumerate(("train", "dev", "test")):
        lines = []
        for i in range(16):
            word, (_, sentiment) = list(OPINIONS.items())[(i + number) % 8]
            text, tag = f"{split} {i}: the price is {word}", f"T-{sentiment[:3].upper()}"
            tokens = [f"{token}={tag if token == 'price' else 'O'}" for token in text.replace(":", "").split()]
            lines.append(f"{text}####{' '.join(tokens)}")
        (folder / "laptop14" / f"{split}.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def save_word_model(tmp_path_factory) -> Callable[..., Path]:
    """Saves an AF-LSTM of random weights that knows the words of a text and some aspects, or another architecture."""

    def save(text: str, **fields) -> Path:
        tokenizer, _ = words_and_vectors(RANDOM, english_words([text, "price taste noise at night"]))
        torch.manual_seed(0)
        sizes = {"vocab_size": len(tokenizer), "embedding_size": 12, "hidden_size": 12}
        labels = {0: "positive", 1: "neutral", 2: "negative"}
        config = AFLstmConfig(**sizes, id2label=labels, calibration_temperature=2.0, **fields)
        folder = tmp_path_factory.mktemp("word_model")
        AutoModelForSequenceClassification.from_config(config).save_pretrained(folder)
        tokenizer.save_pretrained(folder)
        return folder

    return save


@pytest.fixture(scope="session")
def run_once(tmp_path_factory, run_script) -> Callable[..., tuple[Path, str]]:
    """Trains once for all processes that run tests: the folder of a run, and what it printed."""
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent

    def run(name: str, *words: str | Path) -> tuple[Path, str]:
        folder, printed = shared / name / "run", shared / name / "printed.txt"
        with FileLock(shared / f"{name}.lock"):
            if not printed.exists():
                finished = run_script("examples/run_absa.py", *words, "--output_dir", folder)
                assert TOKEN not in finished.stderr
                printed.write_text(finished.stdout)
        return folder, printed.read_text()

    return run


@pytest.fixture(scope="session")
def finished_tagger(tiny_bert: Path, tiny_laptop14: Path, run_once) -> Path:
    """A run of a tagger."""
    words = ("configuration/recipes/laptop14_minilm.yaml", "--model_name_or_path", tiny_bert)
    words += ("--config_overrides", "lstm_size=12", "--data_dir", tiny_laptop14, "--learning_rate", "1e-2")
    words += ("--new_learning_rate", "1e-2", "--bf16", "false")
    return run_once("tagger", *words)[0]


@pytest.fixture(scope="session")
def tiny_aste(tmp_path_factory) -> Path:
    """Sixteen sentences a split in the format of ASTE-Data-V2, with one or two triplets each."""
    folder = tmp_path_factory.mktemp("tiny_aste")
    (folder / "14res").mkdir()
    for number, split in enumerate(("train", "dev", "test")):
        lines = []
        for i in range(16):
            word, (_, sentiment) = list(OPINIONS.items())[(i + number) % 8]
            text, triplets = f"{split} {i} the price is {word}", [([3], [5], sentiment[:3].upper())]
            if i % 2:
                text += " but location nice"
                triplets.append(([7], [8], "POS"))
            lines.append(f"{text}####{triplets}")
        (folder / "14res" / f"{split}_triplets.txt").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="session")
def finished_generator(tiny_bert: Path, tiny_aste: Path, run_once) -> Path:
    """A run of a pointer model."""
    words = ("configuration/recipes/aste_14res_minilm.yaml", "--model_name_or_path", tiny_bert)
    words += ("--config_overrides", "decoder_layers=1,decoder_heads=4,mlp_dropout=0,decoder_dropout=0")
    words += ("--data_dir", tiny_aste, "--learning_rate", "3e-3", "--new_learning_rate", "3e-3", "--bf16", "false")
    words += ("--learning_rates", "{}", "--max_steps", "120", "--eval_strategy", "steps", "--eval_steps", "60")
    words += ("--save_strategy", "steps", "--save_steps", "60", "--r_drop", "false")
    return run_once("generator", *words)[0]


@pytest.fixture(scope="session")
def tiny_sentihood(tmp_path_factory) -> Path:
    """Sixteen sentences a split in SentiHood's format, one opinion word each."""
    folder = tmp_path_factory.mktemp("tiny_sentihood")
    for number, split in enumerate(("train", "dev", "test")):
        sentences = []
        for i in range(16):
            word, (aspect, sentiment) = list(OPINIONS.items())[(i + number) % 8]
            target, other = ("LOCATION2", "LOCATION1 and LOCATION2 but ") if i % 2 else ("LOCATION1", "")
            opinion = {"sentiment": sentiment, "aspect": aspect, "target_entity": target}
            sentences.append({"id": i, "text": f"{split} {i}: {other}{target} is {word}", "opinions": [opinion]})
        (folder / f"sentihood-{split}.json").write_text(json.dumps(sentences))
    return folder


class Harmful:
    """What a pickle does when it is loaded without care."""

    def __init__(self, touched: Path):
        self.touched = touched

    def __reduce__(self):
        return Path.touch, (self.touched,)


@pytest.fixture
def harmful(tmp_path: Path) -> Harmful:
    return Harmful(tmp_path / "touched")


@contextmanager
def forks(modules: Sequence[str], environment: dict[str, str], folders: Callable[[str], Path]) -> Iterator[Callable]:
    """Runs scripts in forks of a process that has imported these modules, which takes seconds: see forks.py.

    Args:
        environment: of that process, for what modules read when they are imported.
        folders: makes one for what a script prints.
    """
    command = [sys.executable, "-P", Path(__file__).with_name("forks.py"), *modules]  # -P: beside it is an `absa` too
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, env=environment, text=True, **pipes) as server:

        def run(words: Sequence, directory: Path, environment: dict[str, str], timeout: int):
            request = {"words": [*map(str, words)], "environment": environment, "timeout": timeout}
            request |= {"directory": str(directory), "printed": str(printed := folders("printed"))}
            print(json.dumps(request), file=server.stdin, flush=True)
            status = int(server.stdout.readline())
            return subprocess.CompletedProcess(
                words, status, *((printed / name).read_text() for name in ("stdout", "stderr"))
            )

        yield run
        server.stdin.close()


@pytest.fixture(scope="session")
def run_script(repo_root: Path, tmp_path_factory) -> Iterator[Callable[..., subprocess.CompletedProcess]]:
    """Runs a script in a process of its own and returns what it printed; `check` expects success.

    With `launcher`, the words before the script's, such as those that start Python, the process is a new one.
    """
    modules = ("absa.predict", "absa.training.run")
    with forks(modules, {**os.environ, **OFFLINE}, tmp_path_factory.mktemp) as run_fork:

        def run(*words: str | Path, check=True, launcher: Sequence[str] = (), timeout: int = 240):
            environment = {**os.environ, **OFFLINE}
            if launcher:
                words, options = [*launcher, *map(str, words)], {"capture_output": True, "text": True}
                finished = subprocess.run(words, cwd=repo_root, env=environment, timeout=timeout, **options)
            else:
                finished = run_fork(words, repo_root, environment, timeout)
            assert not check or finished.returncode == 0, finished.stderr[-4000:]
            return finished

        yield run


@pytest.fixture
def run_here(repo_root: Path, monkeypatch, capsys) -> Callable[..., str]:
    """Runs a script as `run_script` does, but in this process, which spares it seconds; returns what it printed."""

    def run(script: str, *words: str | Path) -> str:
        monkeypatch.chdir(repo_root)
        monkeypatch.setattr(sys, "argv", [script, *map(str, words)])
        capsys.readouterr()
        try:
            runpy.run_path(str(repo_root / script), run_name="__main__")
        except SystemExit as stopped:
            raise stopped.__cause__ or stopped from None  # the error that the script has shown in one line
        return capsys.readouterr().out

    return run


@pytest.fixture(scope="session")
def recipe(tmp_path_factory, tiny_bert: Path, tiny_sentihood: Path) -> Path:
    """A recipe that takes seconds."""
    file = tmp_path_factory.mktemp("recipe") / "tiny.json"
    values = {
        "dataset": "sentihood",
        "data_dir": str(tiny_sentihood),
        "model_name_or_path": str(tiny_bert),
        "num_train_epochs": 2,
        "per_device_train_batch_size": 8,
        "learning_rate": "5e-3",
        "config_overrides": "hidden_dropout_prob=0.1",  # whatever draws from its generator shows
        "logging_steps": 1,
        "save_total_limit": 5,
        "bf16": False,  # the same figures on every CPU
    }
    file.write_text(json.dumps(values))
    return file


@pytest.fixture(scope="session")
def finished_run(recipe: Path, run_once) -> tuple[Path, str]:
    """A run with two seeds, and what it printed; HF_TOKEN was set."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_TOKEN", TOKEN)
        return run_once("classifier", recipe, "--seeds", "1", "2")


@pytest.fixture(scope="session")
def stranger(tmp_path_factory) -> Iterator[Callable[..., tuple[dict, dict[str, torch.Tensor]]]]:
    """Loads a checkpoint as someone without our packages does, with an empty cache: see stranger.py."""
    # In the folder of each process, since modules read these when they are imported.
    environment = {**os.environ, **OFFLINE, "HF_HOME": "home", "HF_MODULES_CACHE": "modules"}
    modules = ("transformers.pipelines", "transformers.modeling_utils", "transformers.generation")
    with forks(modules, environment, tmp_path_factory.mktemp) as run_fork:

        def load(
            checkpoint: str | Path, batch: dict[str, torch.Tensor], auto_class: type, pipelines: dict, texts: list[str]
        ):
            folder = tmp_path_factory.mktemp("stranger")
            save_file(batch, folder / "batch.safetensors")
            options = {"auto_class": auto_class.__name__, "pipelines": pipelines, "texts": texts}
            (folder / "options.json").write_text(json.dumps(options))
            words = (Path(__file__).with_name("stranger.py"), checkpoint, folder)
            finished = run_fork(words, folder, environment, timeout=900)
            assert finished.returncode == 0, finished.stderr[-4000:]
            return json.loads((folder / "results.json").read_text()), load_file(folder / "results.safetensors")

        yield load
