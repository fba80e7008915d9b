"""The house, see docs/adding_a_family.md: one direction of imports, no family known by its name, short files."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FAMILIES = [path.name for path in sorted(ROOT.glob("modeling_*"))]
PRODUCT = ["absa", "benchmarks", "datasets_scripts", "examples", "study", *FAMILIES]
FILES = [file for folder in PRODUCT for file in sorted((ROOT / folder).rglob("*.py"))]
LONG = {"triton_qacg_bert.py"}  # kernels
MOST_LINES, MOST_LINES_OF_A_SCRIPT, MOST_LINES_OF_THE_CONVERTER = 400, 80, 150


def name_of(file: Path) -> str:
    return file.relative_to(ROOT).as_posix()


def imported(file: Path) -> set[str]:
    """Names of the modules that a file imports, absolute, those inside of functions too."""
    package = list(file.relative_to(ROOT).parts[:-1])
    names = set()
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            names |= {module, *(f"{module}.{alias.name}" for alias in node.names)}
    return names


def tops(file: Path) -> set[str]:
    return {name.partition(".")[0] for name in imported(file)}


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_imports_run_in_one_direction(file: Path):
    place = file.relative_to(ROOT).parts[0]
    if place.startswith("modeling_"):
        assert not {top for top in tops(file) if top in PRODUCT or top.startswith("modeling_")} - {place}
    elif place == "datasets_scripts":
        assert not {top for top in tops(file) if top == "absa" or top.startswith("modeling_")}
    assert "tests" not in tops(file)
    if file.parent == ROOT / "absa" / "tasks":
        assert not {name for name in imported(file) if name.startswith("absa.training")}
    if place == "absa":
        assert not tops(file) & {
            "examples",
            "benchmarks",
            "study",
            *(path.stem for path in ROOT.glob("examples/*.py")),
        }


def test_no_module_imports_itself_in_a_circle():
    modules = {name_of(file).removesuffix(".py").removesuffix("/__init__").replace("/", "."): file for file in FILES}
    graph = {}
    for name, file in modules.items():
        # A package's `__init__` is imported before its modules, which is no circle.
        graph[name] = {
            other for other in imported(file) & modules.keys() if other != name and not is_init(modules[other])
        }
    assert "absa.models" in graph["absa.training.run"], "no imports were found"
    assert {*TopologicalSorter(graph).static_order()} == graph.keys()  # else a CycleError, with the circle


def is_init(file: Path) -> bool:
    return file.name == "__init__.py"


@pytest.mark.parametrize("file", [file for file in FILES if "modeling_" not in name_of(file)], ids=name_of)
def test_no_family_is_known_by_its_name(file: Path):
    """What a model can do is asked of the model: `takes(model, "context_ids")`."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Compare):
            compared = [ast.unparse(side) for side in (node.left, *node.comparators)]
            assert not any(side.endswith(("model_type", "['model_type']")) for side in compared), f"line {node.lineno}"
        if isinstance(node, ast.Attribute):
            assert ast.unparse(node) != "sys.path", f"line {node.lineno}"


@pytest.mark.parametrize("file", FILES, ids=name_of)
def test_files_can_be_read_in_one_sitting(file: Path):
    most = MOST_LINES
    if file.parent == ROOT / "examples":
        most = MOST_LINES_OF_THE_CONVERTER if file.stem == "convert_checkpoint" else MOST_LINES_OF_A_SCRIPT
    assert file.name in LONG or len(file.read_text(encoding="utf-8").splitlines()) <= most


LOADING = {  # families that load an encoder's checkpoint under a new head, which cannot import one another
    "modeling_global_context/modeling_global_context.py": ("GlobalContextPreTrainedModel", "encoder"),
    "modeling_scalar_mix/modeling_scalar_mix.py": ("ScalarMixPreTrainedModel", "encoder"),
    "modeling_generative_absa/loading_generative_absa.py": ("PointerPreTrainedModel", "backbone"),
}


def loading_code(file: str, name: str) -> list[str]:
    """How a class loads checkpoints, without documentation, as if its part were called encoder."""
    class_name, part = LOADING[file]
    tree = ast.parse((ROOT / file).read_text(encoding="utf-8"))
    (kind,) = (node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == class_name)
    (method,) = (node for node in kind.body if isinstance(node, ast.FunctionDef) and node.name == name.format(part))
    method.args.args = [ast.arg(argument.arg) for argument in method.args.args]  # types have the families' names
    if ast.get_docstring(method):
        del method.body[0]
    return ast.unparse(method).replace(part, "encoder").splitlines()


@pytest.mark.parametrize("name", ["from_pretrained", "_from_{}"])
def test_families_load_encoders_by_the_same_code(name: str):
    first, *others = (loading_code(file, name) for file in LOADING)
    assert len(first) > 8
    assert others == [first] * len(others)
