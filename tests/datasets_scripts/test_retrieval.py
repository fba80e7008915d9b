import hashlib
import importlib

import datasets
import pytest

from datasets_scripts import load_absa_dataset

# Not `import ... as`: the package re-exports its class under other names, and importlib names the module itself.
sentihood = importlib.import_module("datasets_scripts.sentihood.sentihood")
semeval2014 = importlib.import_module("datasets_scripts.semeval2014.semeval2014")


@pytest.fixture
def pin(monkeypatch):
    """Makes the files of a folder the pinned source of a builder's module; they are local, offline or not."""
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", False)

    def pin_files(module, base_url, folder):
        pinned = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in module.SHA256_OF}
        monkeypatch.setattr(module, "BASE_URL", base_url)
        monkeypatch.setattr(module, "SHA256_OF", pinned)

    return pin_files


@pytest.mark.parametrize("module", [sentihood, semeval2014])
def test_sources_are_pinned_to_a_full_commit(module):
    assert len(module.BASE_URL.split("/")[5]) == 40
    assert all(len(digest) == 64 for digest in module.SHA256_OF.values())


def test_pinned_digests_are_those_of_the_known_files(shared_dir):
    for folder, module in (("sentihood", sentihood), ("semeval2014", semeval2014)):
        for name, digest in module.SHA256_OF.items():
            assert hashlib.sha256((shared_dir / "data" / folder / name).read_bytes()).hexdigest() == digest


def test_sentihood_downloads(write_sentihood, serve, pin, tmp_path):
    source = write_sentihood(train=[("LOCATION1 is safe", []), ("LOCATION1 is dear", [])])
    pin(sentihood, serve(source), source)
    splits = load_absa_dataset("sentihood", cache_dir=tmp_path / "cache")
    # Sentences x 4 aspects.
    assert {split: rows.num_rows for split, rows in splits.items()} == {"train": 8, "validation": 4, "test": 4}


def test_semeval2014_downloads(write_semeval, serve, pin, tmp_path):
    source = write_semeval()
    pin(semeval2014, serve(source), source)
    splits = load_absa_dataset("semeval2014", cache_dir=tmp_path / "cache")
    assert {split: rows.num_rows for split, rows in splits.items()} == {"train": 5, "test": 5}


def test_changed_file_is_refused_and_fetched_anew(write_sentihood, serve, pin, tmp_path):
    source = write_sentihood()
    pin(sentihood, serve(source), source)
    changed = source / "sentihood-dev.json"
    good = changed.read_bytes()
    changed.write_bytes(good.replace(b"fine", b"foul"))
    expected, actual = hashlib.sha256(good).hexdigest(), hashlib.sha256(changed.read_bytes()).hexdigest()
    with pytest.raises(ValueError, match=rf"sentihood-dev.json has SHA-256 {actual}, expected {expected}"):
        load_absa_dataset("sentihood", cache_dir=tmp_path / "cache")
    changed.write_bytes(good)
    assert load_absa_dataset("sentihood", cache_dir=tmp_path / "cache")["validation"].num_rows == 4


@pytest.mark.parametrize("path", ["absent", "broken"], ids=["404", "500"])
def test_file_that_the_server_does_not_give(write_sentihood, serve, pin, tmp_path, path):
    source = write_sentihood()
    pin(sentihood, f"{serve(source)}/{path}", source)
    with pytest.raises(ConnectionError, match=rf"{path}/sentihood-train.json could not be downloaded.*data_dir"):
        load_absa_dataset("sentihood", cache_dir=tmp_path / "cache")


def test_offline_download_says_what_to_do(monkeypatch, tmp_path):
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    with pytest.raises(ConnectionError, match=r"sentihood-train.json could not be downloaded .*[Oo]ffline.*data_dir"):
        load_absa_dataset("sentihood", cache_dir=tmp_path)
