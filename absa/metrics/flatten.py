"""An `evaluate` module of this package as one folder that stands alone, as a Space of the Hub holds it."""

import re
from pathlib import Path

METRICS = Path(__file__).parent
OWN_IMPORT = re.compile(r"^from absa\.metrics\.(\w+) import ", re.MULTILINE)
FETCHED = "# `evaluate.load` fetches what is imported here, and nothing that those modules import in turn."


def flatten(module: str, folder: Path, name: str) -> None:
    """Write the script of an `evaluate` module and the plain modules that it needs into one folder.

    `evaluate.load` then reads the script where absa is not installed. The plain modules get an underscore, so that
    none of them has the name of the script, and their imports become relative.

    Args:
        module: the name of a folder in `evaluate_modules`: "absa", "alsc", "aspect_polarity", "e2e_absa",
            "jaccard", "semeval2014", "sentihood", "tagging", "tuple_f1".
        folder: where the files go; made if it does not exist.
        name: of the published module; its script is `<name>.py`.

    Raises:
        ValueError: there is no such module.
    """
    scripts = {path.stem: path for path in sorted(METRICS.glob("evaluate_modules/*/*.py"))}
    if module not in scripts:
        raise ValueError(f"module={module!r} is no metric of this package: give one of {', '.join(scripts)}")
    script = scripts[module].read_text(encoding="utf-8")
    sources: dict[str, str] = {}
    waiting = OWN_IMPORT.findall(script)
    while waiting:
        plain = waiting.pop()
        if plain not in sources:
            sources[plain] = (METRICS / f"{plain}.py").read_text(encoding="utf-8")
            waiting += OWN_IMPORT.findall(sources[plain])
    folder.mkdir(parents=True, exist_ok=True)
    # A comment behind an import would be read as an address.
    fetched = (f"from ._{plain} import __doc__ as _" for plain in sorted(sources))
    script = "\n".join([script, FETCHED, *fetched, ""])
    for file, source in [(name, script), *((f"_{plain}", source) for plain, source in sources.items())]:
        (folder / f"{file}.py").write_text(OWN_IMPORT.sub(r"from ._\1 import ", source), encoding="utf-8")
