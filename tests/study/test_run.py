"""The study as a user runs it, on a tiny BERT: trained, compared and put into tables."""

import json
import sys
from pathlib import Path

import pytest
import yaml

import grids
import report
import results
import run

LABELS = ("BERT-pair", "context in the input")


@pytest.fixture(scope="module")
def grid_file(tmp_path_factory, tiny_bert: Path) -> Path:
    """A grid of two runs that take seconds: one with an oracle, one a control."""
    arguments = {"dataset": "sentihood", "model_name_or_path": str(tiny_bert), "num_train_epochs": 1, "bf16": False}
    arguments |= {"per_device_train_batch_size": 8, "learning_rate": 5.0e-3}
    control = {"model_type": "qacg_bert", "control": "context_in_input"}
    control["config_overrides"] = "quasi_attention_scale=0.0,context_initializer_range=1.0"
    runs = {LABELS[0]: {"model_type": "bert", "oracle": True}, LABELS[1]: control}
    fields = {"title": "tiny", "split": "test", "seeds": [1], "arguments": arguments, "runs": runs}
    file = tmp_path_factory.mktemp("grid") / "tiny.yaml"
    file.write_text(yaml.safe_dump({**fields, "paired": {LABELS[1]: LABELS[0]}}))
    return file


@pytest.mark.slow
def test_train_compare_report(grid_file: Path, tiny_sentihood: Path, tmp_path: Path, run_here, monkeypatch):
    places = ("--output_dir", tmp_path / "runs", "--results_dir", tmp_path)
    printed = run_here("study/run.py", grid_file, "--data_dirs", f"sentihood={tiny_sentihood}", "--jobs", "2", *places)
    assert "2 runs to train" in printed
    grid = grids.read_grid(grid_file)
    lines = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    by_name = {grids.run_name(line["arguments"]): line for line in lines}
    names = [grids.run_name(grid.runs[label]) for label in LABELS]
    for name in names:
        stored = json.loads((tmp_path / "runs" / name / "seed-1" / "results.json").read_text())["test"]
        scores = {score: value for score, value in stored.items() if not score.endswith(("_low", "_high"))}
        assert by_name[name]["test"] == scores
        (point,) = by_name[name]["curve"]["model"]
        assert point["epoch"] == 1.0
        assert point["validation"]["strict_accuracy"] == by_name[name]["validation"]["strict_accuracy"]
    pair, control = (by_name[name] for name in names)
    assert pair["oracle"]["strict_accuracy"] == pair["test"]["strict_accuracy"]  # of one evaluation it is the best
    assert control["oracle"] is None
    assert pair["contrast"].keys() >= {"opinions right", "false mentions"}
    assert "contrast" not in control  # whose checkpoint is not the model
    assert "0 runs to train" in run_here("study/run.py", grid_file, *places)

    printed = run_here("study/paired.py", grid_file, *places, "--resamples", "50")
    scores = results.read_analysis(tmp_path, "paired", grid)[LABELS[1]][LABELS[0]]["scores"]
    expected = control["test"]["macro_f1"] - pair["test"]["macro_f1"]
    assert scores["macro_f1"] == pytest.approx(expected, abs=1e-12)
    assert scores["macro_f1_low"] <= expected <= scores["macro_f1_high"]
    assert f"macro_f1 {100 * expected:+.1f}" in printed

    told = tmp_path / "runs" / names[0] / "seed-1" / "results.json"
    told.write_text(told.read_text().replace('"macro_f1": ', '"macro_f1": 1'))
    with pytest.raises(ValueError, match=r"seed-1 is of another training than its line in results.jsonl"):
        run_here("study/paired.py", grid_file, *places, "--resamples", "50")

    monkeypatch.setattr(report, "GRIDS", [grid_file])
    document = "\n".join(f"<!-- tiny{end} -->\nold\n<!-- /tiny{end} -->" for end in ("", "_paired", "_oracle"))
    filled = report.fill(document, report.all_tables(tmp_path))
    assert "old" not in filled
    assert f"| {LABELS[0]} | 1 | {100 * pair['test']['strict_accuracy']:.1f} |" in filled
    assert f"| {LABELS[1]} minus {LABELS[0]} | 1 |" in filled
    assert f"| {LABELS[0]}, best on test | 1 | {100 * pair['oracle']['strict_accuracy']:.1f} |" in filled
    assert report.fill(filled, report.all_tables(tmp_path)) == filled


def test_a_run_that_fails_is_named_with_its_log_and_leaves_no_line(grid_file: Path, tmp_path: Path, monkeypatch):
    failing = [sys.executable, "-c", "raise SystemExit('no weights')"]
    later = [sys.executable, "-c", "print('not reached')"]

    def stages_of(name: str, seed: int, run_: dict, arguments: run.StudyArguments) -> list[list[run.Step]]:
        return [[run.Step(arguments.output_dir / name, seed, words)] for words in (failing, later)]

    monkeypatch.setattr(run, "stages_of", stages_of)
    with pytest.raises(ChildProcessError, match=r"sentihood/bert.* seed 1 failed: see .*seed-1\.log"):
        run.main(run.StudyArguments([grid_file], output_dir=tmp_path / "runs", results_dir=tmp_path))
    logs = (tmp_path / "runs").glob("**/*.log")
    assert "no weights" in [log.read_text().strip() for log in logs]
    assert not (tmp_path / "results.jsonl").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_other_runs_go_on_and_those_that_are_taught_come_last(tmp_path: Path, monkeypatch, capsys, jobs: int):
    base = {"dataset": "sentihood", "model_type": "bert", "model_name_or_path": "b"}
    names = {"taught": {**base, "teachers": "one"}, "one": base, "other": {**base, "r_drop": True}}
    file = tmp_path / "tiny.yaml"
    file.write_text(yaml.safe_dump({"title": "t", "split": "test", "seeds": [1, 2], "runs": names}, sort_keys=False))
    trained = []

    def train(name: str, seed: int, run_: dict, arguments):
        if run_.get("r_drop"):
            raise ChildProcessError(f"{name} seed {seed} failed")
        trained.append("teachers" in run_)

    monkeypatch.setattr(run, "train", train)
    arguments = run.StudyArguments([file], jobs=jobs, output_dir=tmp_path / "runs", results_dir=tmp_path)
    with pytest.raises(ChildProcessError, match="2 of 6 runs failed"):
        run.main(arguments)
    assert trained == [False, False, True, True]
    assert capsys.readouterr().out.count("r_drop=true seed") == 2  # at once, before the error at the end
    one = grids.run_name(grids.read_grid(file).runs["one"])
    arguments.runs = ["taught"]
    with pytest.raises(ValueError, match=f"needs its teacher {one}/seed-1, which is not in"):
        run.main(arguments)


def test_a_row_that_is_in_no_grid(grid_file: Path):
    with pytest.raises(ValueError, match=r"runs=\['BERT-pear'\] is in none of these grids"):
        run.main(run.StudyArguments([grid_file], runs=["BERT-pear"]))


@pytest.fixture(scope="module")
def denoising_file(tmp_path_factory, tiny_bert: Path) -> Path:
    """A grid of a run that is denoised first."""
    arguments = {"task": "generation", "dataset": "aste_v2", "data_config": "14res", "model_type": "pointer_absa"}
    arguments |= {"model_name_or_path": str(tiny_bert), "num_train_epochs": 1, "bf16": False}
    arguments |= {"config_overrides": "decoder_layers=1,decoder_heads=4"}  # a short name: it is a folder's
    runs = {"after denoising": {"denoising": {"noise": "uniform", "num_train_epochs": 2}}}
    fields = {"title": "tiny", "split": "test", "seeds": [1, 2], "arguments": arguments, "runs": runs}
    file = tmp_path_factory.mktemp("grid") / "tiny.yaml"
    file.write_text(yaml.safe_dump(fields))
    return file


def words_of(stages: list[list[run.Step]]) -> list[list[str]]:
    return [step.words for stage in stages for step in stage]


def test_a_run_with_denoising_has_two_steps(denoising_file: Path):
    (grid_run,) = grids.read_grid(denoising_file).runs.values()
    texts = ["14res=a=b.xml", "14lap=c.xml", "14res=d.txt"]
    arguments = run.StudyArguments([denoising_file], texts=texts, output_dir=Path("out"))
    first, second = words_of(run.stages_of("dataset/run", 2, grid_run, arguments))
    assert [Path(words[1]).name for words in (first, second)] == ["denoise.py", "run_absa.py"]
    start = Path("out/dataset/run/start")
    assert set(first) - set(second) == {
        *("--noise=uniform", "--num_train_epochs=2", f"--output_dir={start}", "--texts", "a=b.xml", "d.txt"),
        *(first[1], f"--model_name_or_path={grid_run['model_name_or_path']}"),
    }
    assert set(second) - set(first) == {
        *("--num_train_epochs=1", f"--output_dir={start.parent}", second[1]),
        f"--model_name_or_path={start / 'seed-{seed}'}",
    }
    assert first[first.index("--seeds") + 1] == second[second.index("--seeds") + 1] == "2"


def test_a_run_on_other_data_first_and_a_mixture(tmp_path: Path):
    base = {"dataset": "sentihood", "model_type": "bert", "model_name_or_path": "b", "context_source": "text"}
    entries = [{"dataset": "mams", "data_config": "term_rows", "name": "terms"}, {"dataset": "semeval2014"}]
    first = {"mixture": entries, "num_train_epochs": 2, "metric_for_best_model": None}
    grid_run = {**base, "num_train_epochs": 6, "metric_for_best_model": "macro_f1", "first": first}
    folders = ["sentihood=SH", "terms=M", "semeval2014=S4"]
    arguments = run.StudyArguments([tmp_path / "x.yaml"], data_dirs=folders, output_dir=Path("out"))
    before, after, contrast = words_of(run.stages_of("dataset/run", 2, grid_run, arguments))
    (start,) = run.start_folders(grid_run, arguments)
    assert start == Path("out", "starts", grids.run_name({**base, **first}))
    assert set(before) - set(after) == {
        *("--num_train_epochs=2", f"--output_dir={start}", "--model_name_or_path=b"),
        *(f"--mixture={json.dumps(entries)}", f"--data_dirs={json.dumps({'terms': 'M', 'semeval2014': 'S4'})}"),
    }
    assert set(after) - set(before) == {
        *("--num_train_epochs=6", "--output_dir=out/dataset/run", f"--model_name_or_path={start / 'seed-{seed}'}"),
        *("--data_dir=SH", "--dataset=sentihood", "--metric_for_best_model=macro_f1"),
    }
    chain = {**grid_run, "first": {**first, "first": {"num_train_epochs": 9}}}
    other = {**grid_run, "r_drop": True, "first": {**first, "r_drop": False, "first": {"num_train_epochs": 9}}}
    places = run.start_folders(chain, arguments), run.start_folders(other, arguments)
    assert len({*places[0], *places[1]}) == 4, "what starts from another training is another"
    earliest, *later = words_of(run.stages_of("dataset/run", 2, chain, arguments))
    middle, start_of_start = run.start_folders(chain, arguments)
    moved = {f"--output_dir={start}": f"--output_dir={middle}"}
    moved["--model_name_or_path=b"] = f"--model_name_or_path={start_of_start / 'seed-{seed}'}"
    assert later[0] == [moved.get(word, word) for word in before]
    assert later[1:] == [[word.replace(f"{start}/", f"{middle}/") for word in after], contrast]
    assert {"--num_train_epochs=9", "--data_dir=SH", f"--output_dir={start_of_start}"} < set(earliest)
    held_out = {"semeval2014": ["dev.xml", "test.xml"]}
    before, after, _ = words_of(
        run.stages_of("dataset/run", 2, {**grid_run, "first": {**first, "held_out": held_out}}, arguments)
    )
    place = before.index("--held_out")
    assert before[place + 1 : place + 3] == ["S4/dev.xml", "S4/test.xml"]
    assert "--held_out" not in after
    with pytest.raises(ValueError, match="held_out has files of mams: give their folder, --data_dirs mams=DIR"):
        run.stages_of("dataset/run", 2, {**grid_run, "held_out": {"mams": ["test.xml"]}}, arguments)
    scores = {"sentihood_f1": 0.5, "sentihood_f1_low": 0.4, "corpus_f1": 0.1, "mean": 0.3}
    assert run.own_scores({**base, "mixture": entries}, scores) == {"f1": 0.5}
    assert run.own_scores(base, {"f1": 0.5, "f1_low": 0.4}) == {"f1": 0.5}
    arguments.output_dir = tmp_path
    times_of = (("near", [60.0, 30.0]), ("far", [50.0, None]))  # two models, then one that was stopped
    for folder, (digest, times) in zip(run.start_folders(chain, arguments), times_of, strict=True):
        (folder / "seed-2").mkdir(parents=True)
        training = {str(number): {"train_runtime_s": seconds} for number, seconds in enumerate(times)}
        (folder / "seed-2" / "results.json").write_text(json.dumps({"training": training}))
        (folder / "arguments.json").write_text(json.dumps({"data_sha256": digest}))
    expected = [{"data_sha256": "near", "train_runtime_s": 90.0}, {"data_sha256": "far", "train_runtime_s": None}]
    assert run.before(chain, 2, arguments) == expected


def test_a_run_that_is_the_mean_of_members(tmp_path: Path):
    base = {"dataset": "sentihood", "model_type": "bert", "model_name_or_path": "b", "num_train_epochs": 6}
    grid_run = {**base, "first": {"num_train_epochs": 2}, "members": [7, 8], "none_factor": 0.25}
    arguments, folder = run.StudyArguments([tmp_path / "x.yaml"], output_dir=Path("out")), Path("out/dataset/run")
    before, members, (mean,), _ = run.stages_of("dataset/run", 2, grid_run, arguments)
    alone = {**base, "first": {"num_train_epochs": 2}}
    assert before == run.stages_of("dataset/other", 2, alone, arguments)[0], "shared with the run of one seed"
    (start,) = run.start_folders(grid_run, arguments)
    for number, member in enumerate(members, start=7):
        assert (member.folder, member.seed) == (folder / "members-2", number)
        assert set(member.words) - set(mean.words) == {
            *(str(number), f"--output_dir={folder / 'members-2'}", f"--model_name_or_path={start / 'seed-2'}"),
        }
    assert set(mean.words) - set(members[0].words) == {
        *("2", f"--output_dir={folder}", f"--model_name_or_path={start / 'seed-{seed}'}", "--mean_of"),
        *(str(folder / "members-{seed}" / f"seed-{member}") for member in (7, 8)),
        "--none_factor=0.25",  # once
    }
    members, *_ = run.stages_of("dataset/run", 2, {**base, "members": [7, 8]}, arguments)
    assert all("--model_name_or_path=b" in member.words for member in members)


@pytest.mark.slow
def test_members_are_trained_from_one_start_that_another_run_shares(
    grid_file: Path, tiny_sentihood: Path, tmp_path: Path
):
    grid = yaml.safe_load(grid_file.read_text())
    (label, own), *_ = grid["runs"].items()
    own |= {"init_seed": 0, "first": {"learning_rate": 1.0e-3}}
    runs = {label: {**own, "members": [5, 6]}, "one": own}
    file = tmp_path / "members.yaml"
    file.write_text(yaml.safe_dump({**grid, "runs": runs, "paired": {}}))
    places = {"output_dir": tmp_path / "runs", "results_dir": tmp_path, "data_dirs": [f"sentihood={tiny_sentihood}"]}
    run.main(run.StudyArguments([file], seeds=[1], jobs=2, **places))
    lines = {"members" in line["arguments"]: line for line in results.read_results(tmp_path).values()}
    line, name = lines[True], grids.run_name(lines[True]["arguments"])
    assert list(line["curve"]) == list(line["best_step"]) == ["model", "seed 5", "seed 6"]
    assert [len(curve) > 0 for curve in line["curve"].values()] == [False, True, True]
    folders = [tmp_path / "runs" / name / "members-1" / f"seed-{member}" for member in (5, 6)]
    trained = [json.loads((folder / "results.json").read_text())["training"]["model"] for folder in folders]
    assert line["train_runtime_s"] == sum(one["train_runtime_s"] for one in trained)
    assert line["first"] == lines[False]["first"], "one training, by its time"
    assert not list(tmp_path.glob("runs/**/members-1/**/*.safetensors"))
    for one in lines.values():
        assert (tmp_path / "runs" / grids.run_name(one["arguments"]) / "seed-1" / "model.safetensors").is_file()


def test_texts_of_another_domain_are_none(denoising_file: Path, tmp_path: Path):
    arguments = run.StudyArguments([denoising_file], texts=["14lap=c.xml"], results_dir=tmp_path)
    with pytest.raises(ValueError, match="is denoised: give texts of its domain, --texts 14res=FILE"):
        run.main(arguments)
    with pytest.raises(ValueError, match=r"texts=c\.xml: give DATA_CONFIG=FILE, such as 14res=c\.xml"):
        run.StudyArguments([denoising_file], texts=["c.xml"])


@pytest.mark.slow
def test_denoising_is_done_once_and_its_figures_are_kept(
    denoising_file: Path, tiny_aste: Path, tmp_path: Path, monkeypatch
):
    (tmp_path / "texts.txt").write_text("the price was dear and the location dull\n")
    places = {"output_dir": tmp_path / "runs", "results_dir": tmp_path, "data_dirs": [f"aste_v2={tiny_aste}"]}
    arguments = run.StudyArguments([denoising_file], texts=[f"14res={tmp_path / 'texts.txt'}"], **places)
    stages_of, broken = run.stages_of, [sys.executable, "-c", "raise SystemExit('killed')"]
    with monkeypatch.context() as patch:
        patch.setattr(run, "stages_of", lambda *asked: [stages_of(*asked)[0], [run.Step(tmp_path, 1, broken)]])
        with pytest.raises(ChildProcessError, match="seed 1 failed"):
            run.main(arguments)
    grid = grids.read_grid(denoising_file)
    folder = arguments.output_dir / grids.run_name(grid.runs["after denoising"])
    written = (folder / "start" / "seed-1" / "results.json").stat().st_mtime_ns
    run.main(arguments)
    assert (folder / "start" / "seed-1" / "results.json").stat().st_mtime_ns == written
    assert len(list(folder.glob("seed-*/model.safetensors"))) == 2
    assert not list(folder.glob("start/**/*.safetensors"))

    found = results.read_results(tmp_path)
    assert sorted(seed for _, seed in found) == [1, 2]
    of_steps = [line["denoising"] for line in found.values()]
    for denoising, line in zip(of_steps, found.values(), strict=True):
        assert line["arguments"] == grid.runs["after denoising"]
        assert denoising["corpus"]["texts.txt"]["kept"] == 1
        assert denoising["held_out"]["before"]["tokens"] == denoising["held_out"]["after"]["tokens"] > 0
    monkeypatch.setattr(report, "GRIDS", [denoising_file])
    filled = report.fill("<!-- tiny_denoising -->\n<!-- /tiny_denoising -->", report.all_tables(tmp_path))
    losses = [denoising["held_out"]["before"]["loss_per_token"] for denoising in of_steps]
    assert f"| after denoising | 2 | {sum(losses) / 2:.2f} (" in filled
