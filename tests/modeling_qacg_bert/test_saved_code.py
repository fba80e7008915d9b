"""What a saved model carries: all the code it needs, which does nothing but define things."""

import ast
import json
import sys
from pathlib import Path

import pytest
from transformers.dynamic_module_utils import get_relative_import_files

PACKAGE = Path(__file__).resolve().parents[2] / "modeling_qacg_bert"
CODE = sorted(path.name for path in PACKAGE.glob("*_qacg_bert.py"))
CLASSES = {
    "qacg": {
        "AutoConfig": "configuration_qacg_bert.QACGBertConfig",
        "AutoModel": "modeling_qacg_bert.QACGBertModel",
        "AutoModelForSequenceClassification": "modeling_qacg_bert.QACGBertForSequenceClassification",
    },
    "cg": {
        "AutoConfig": "configuration_qacg_bert.CGBertConfig",
        "AutoModel": "modeling_qacg_bert.CGBertModel",
        "AutoModelForSequenceClassification": "modeling_qacg_bert.CGBertForSequenceClassification",
    },
}
# Builtins and attributes that open files or sockets, start processes or run text as code.
FORBIDDEN_NAMES = {"open", "exec", "eval", "compile", "__import__", "input", "breakpoint", "globals"}
FORBIDDEN_MODULES = {
    *("os", "io", "sys", "pathlib", "shutil", "tempfile", "glob", "subprocess", "multiprocessing", "socket", "ssl"),
    *("http", "urllib", "ftplib", "smtplib", "asyncio", "ctypes", "importlib", "pickle", "marshal", "runpy", "code"),
    *("builtins", "webbrowser", "signal", "threading", "codeop", "pty", "select", "sqlite3", "zipfile", "tarfile"),
}
FORBIDDEN_ATTRIBUTES = {
    *("read_text", "read_bytes", "write_text", "write_bytes", "system", "popen", "urlopen", "load", "load_file"),
    *("torch_load", "hub", "load_state_dict_from_url", "save", "save_file"),
}
# What may be called while a file is imported: nothing that does more than make a value.
CALLED_AT_IMPORT = {"re.compile", "TypeVar"}
DECORATORS = {
    "strict",
    "dataclass",
    "can_return_tuple",
    "property",
    "classmethod",
    "staticmethod",
    "torch.no_grad",
    "contextmanager",
}
# And two files: kernels, with the operators of PyTorch that they are, and what Captum explains.
IMPORTED_BY = {"triton_qacg_bert.py": {"triton"}, "relevance_qacg_bert.py": {"captum"}}
CALLED_AT_IMPORT_BY = {"triton_qacg_bert.py": {"re.sub", "_forward.register_autograd"}}
DECORATORS_OF = {
    "triton_qacg_bert.py": {"_jit", "torch.library.custom_op", "_forward.register_fake", "_backward.register_fake"}
}


def tree(name: str) -> ast.Module:
    return ast.parse((PACKAGE / name).read_text(encoding="utf-8"))


def calls_outside_functions(node: ast.AST):
    """Calls that happen when a module is imported: in its own body, in those of classes, and decorators."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            for default in [*child.args.defaults, *(d for d in child.args.kw_defaults if d is not None)]:
                yield from calls_outside_functions(ast.Expr(default))
            continue
        if isinstance(child, ast.Call):
            yield child
        yield from calls_outside_functions(child)


def is_optional_import(statement: ast.stmt) -> bool:
    """Imports of what may be absent, the form in which Transformers lets it be absent."""
    return (
        isinstance(statement, ast.Try)
        and all(isinstance(inner, ast.Import | ast.ImportFrom) for inner in statement.body)
        and [ast.unparse(handler.type) for handler in statement.handlers] == ["ImportError"]
        and all(isinstance(inner, ast.Assign) for inner in statement.handlers[0].body)
        and not statement.orelse
        and not statement.finalbody
    )


@pytest.mark.parametrize("name", CODE)
def test_imports(name: str):
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Import):
            modules = [(0, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            modules = [(node.level, node.module)]
        else:
            continue
        for level, module in modules:
            if level:  # Transformers copies what it finds by this form only
                assert level == 1, f"line {node.lineno}"
                assert f"{module}.py" in CODE, f"line {node.lineno}"
                continue
            top = module.split(".")[0]
            allowed = {"torch", "transformers"} | IMPORTED_BY.get(name, set())
            assert top in allowed | sys.stdlib_module_names, f"line {node.lineno}: {module}"
            assert top not in FORBIDDEN_MODULES, f"line {node.lineno}: {module}"


@pytest.mark.parametrize("name", CODE)
def test_nothing_is_opened_started_or_evaluated(name: str):
    for node in ast.walk(tree(name)):
        if isinstance(node, ast.Name):
            assert node.id not in FORBIDDEN_NAMES, f"line {node.lineno}: {node.id}"
        if isinstance(node, ast.Attribute) and ast.unparse(node) != "tl.load":  # of a GPU's memory
            assert node.attr not in FORBIDDEN_ATTRIBUTES, f"line {node.lineno}: .{node.attr}"
            assert not (node.attr.startswith("__") and node.attr not in {"__init__", "__name__", "__post_init__"}), (
                f"line {node.lineno}: .{node.attr}"
            )


@pytest.mark.parametrize("name", CODE)
def test_nothing_runs_at_import(name: str):
    module = tree(name)
    definitions = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)
    for number, statement in enumerate(module.body):
        is_docstring = number == 0 and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        is_call = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call)  # which: see below
        assert is_docstring or is_call or is_optional_import(statement) or isinstance(statement, definitions), (
            f"line {statement.lineno}"
        )
    for call in calls_outside_functions(module):
        called = ast.unparse(call.func)
        allowed = CALLED_AT_IMPORT | {"dataclass"} | CALLED_AT_IMPORT_BY.get(name, set())
        assert called in allowed, f"line {call.lineno}: {called}"
    for node in ast.walk(module):
        for decorator in getattr(node, "decorator_list", []):
            applied = ast.unparse(decorator.func if isinstance(decorator, ast.Call) else decorator)
            assert applied in DECORATORS | DECORATORS_OF.get(name, set()), f"line {decorator.lineno}: @{applied}"


def test_every_file_is_reached_from_the_model():
    reached = {Path(file).name for file in get_relative_import_files(PACKAGE / "modeling_qacg_bert.py")}
    assert sorted({*reached, "modeling_qacg_bert.py"}) == CODE


def saved_files(model, folder: Path) -> dict:
    model.save_pretrained(folder)
    assert sorted(path.name for path in folder.iterdir()) == sorted(["config.json", "model.safetensors", *CODE])
    for name in CODE:
        assert (folder / name).read_bytes() == (PACKAGE / name).read_bytes()
    return json.loads((folder / "config.json").read_text())


def test_a_saved_classifier_names_all_classes_and_the_pipeline(kind, make_model, tmp_path):
    config = saved_files(make_model(kind), tmp_path)
    assert config["auto_map"] == CLASSES[kind]
    assert config["custom_pipelines"] == {
        "aspect-sentiment": {
            "impl": "pipeline_qacg_bert.AspectSentimentPipeline",
            "pt": ["AutoModelForSequenceClassification"],
            "type": "text",
        }
    }


def test_a_saved_model_without_a_head_names_all_classes_and_no_pipeline(kind, make_model, tmp_path):
    model = make_model(kind)
    saved_files(model, tmp_path / "classifier")
    config = saved_files(model.bert, tmp_path / "headless")  # with the configuration that the classifier has too
    assert config["auto_map"] == CLASSES[kind]
    assert config["custom_pipelines"] == {}
