"""Rules of style that linters do not have. Each check names the file and line, and a test shows that it can fail."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "kraft"
GENERATED = PACKAGE / "messages"
HANDWRITTEN = ("registry.py", "plain.py", "__init__.py")
MAX_MODULE_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_PAGE_LINES = 400
CHANGELOG = "CHANGELOG.md"


def sources() -> list[Path]:
    return [path for path in sorted(PACKAGE.rglob("*.py")) if path.parent != GENERATED or path.name in HANDWRITTEN]


@functools.cache
def trees() -> list[tuple[Path, ast.Module]]:
    return [(path, ast.parse(path.read_text(), str(path))) for path in sources()]


@functools.cache
def nodes_of(tree: ast.AST) -> list[ast.AST]:
    return list(ast.walk(tree))


@pytest.fixture(scope="module", autouse=True)
def the_trees_go_with_the_module() -> Iterator[None]:
    """A million nodes would slow the garbage collector in later tests."""
    yield
    trees.cache_clear()
    nodes_of.cache_clear()


def dotted(node: ast.AST) -> str:
    """The names and attributes of ``node``, as in its source: ``os.path.join``. Other expressions are ``?``."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else "?"


def long_functions(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes_of(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > MAX_FUNCTION_LINES:
                yield node.lineno, f"{node.name} has {lines} lines, a screen has {MAX_FUNCTION_LINES}"


def unbounded_shields(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """A shield disables every deadline around it, so it needs one of its own: move_on_after(N, shield=True)."""
    bounded = {"move_on_after", "fail_after", "move_on_at", "fail_at"}
    for node in nodes_of(tree):
        if isinstance(node, ast.Call) and any(keyword.arg == "shield" for keyword in node.keywords):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if name not in bounded:
                yield node.lineno, f"shield without a number in {name}"
        if isinstance(node, ast.Attribute) and node.attr == "shield" and isinstance(node.ctx, ast.Store):
            yield node.lineno, "shield assigned"


def stored_nurseries(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """A nursery on an object outlives the block that should bound it."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and "nursery" in node.attr:
            yield node.lineno, f"nursery stored as {node.attr}"


def unbounded_channels(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        called = node.func.value if isinstance(node.func, ast.Subscript) else node.func
        if dotted(called).endswith("open_memory_channel") and "inf" in ast.unparse(node.args[0]):
            yield node.lineno, "a queue without a bound"


def swallowed_cancellations(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """BaseException includes trio.Cancelled: a handler must raise it again, or pass it on."""
    for node in nodes_of(tree):
        if isinstance(node, ast.ExceptHandler):
            caught = "everything" if node.type is None else ast.unparse(node.type)
            keeps = node.name is not None and any(
                isinstance(each, ast.Name) and each.id == node.name for each in ast.walk(ast.Module(node.body, []))
            )
            raises = any(isinstance(each, ast.Raise) for each in ast.walk(node))
            if caught in ("everything", "BaseException") and not (raises or keeps):
                yield node.lineno, f"except {caught} swallows a cancellation"


#: Only ``kraft.world`` takes these from the process. Other code takes them from its world, so that a run can be
#: replayed and a simulation patches nothing.
OF_THE_WORLD = ("random", "secrets", "time", "uuid.uuid1", "uuid.uuid4", "os.urandom", "trio.to_thread")
#: The exceptions, with their reasons.
MAY_ASK = {
    "world": "provides them to all others",
    "cli": "runs outside of any node, in real time",
    "codegen": "runs at development time",
    "story": "prints local times for a person",
    "experiment/watched_node.py": "measures the CPU time of the rounds of a node",
    "spark/campaign_rows.py": "measures the CPU time of a seed on an executor",
    "metrics/registry.py": "has a clock by default; a node passes that of its world",
}


_DOTTED = re.compile(r"[\w.]+")


def imported_names(tree: ast.AST) -> dict[str, str]:
    """Map the imported names of a module to their full names."""
    names = {}
    for node in nodes_of(tree):
        if isinstance(node, ast.Import):
            names.update({each.asname or each.name.partition(".")[0]: each.name for each in node.names})
        elif isinstance(node, ast.ImportFrom):
            names.update({each.asname or each.name: f"{node.module}.{each.name}" for each in node.names})
    return names


def worldly_things(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield each use of a clock, a random number, an id or a thread of this process. A seeded generator is allowed."""
    names = imported_names(tree)
    inner = {id(node.value) for node in nodes_of(tree) if isinstance(node, ast.Attribute)}
    seeded = {id(node.func) for node in nodes_of(tree) if isinstance(node, ast.Call) and node.args}
    for node in nodes_of(tree):
        if not isinstance(node, ast.Name | ast.Attribute) or id(node) in inner:
            continue
        text = dotted(node)
        root, dot, rest = text.partition(".")
        asked = names.get(root, "") + dot + rest if _DOTTED.fullmatch(text) else ""
        is_seeded = asked == "random.Random" and id(node) in seeded
        if not is_seeded and any(f"{asked}.".startswith(f"{each}.") for each in OF_THE_WORLD):
            yield node.lineno, f"take {asked} from the world"


#: The modules that may make files and directories in another way than kraft.storage.creation, with their reasons.
MAY_CREATE = {
    "storage/creation.py": "is the way",
    "codegen": "writes the checkout of a developer",
    "api/index.py": "writes the checkout of a developer",
    "cli/main.py": "opens /dev/null",
    "cli/quorum.py": "writes the page that the user names, as a shell would",
    "cli/pipeline.py": "writes the page that the user names, as a shell would",
    "cli/experiment.py": "writes into the directory that the user names, as a shell would",
    "experiment": "writes what its processes need into the directory that the user names",
    "spark/pipeline": "writes beside Spark's own files, in a directory made for the owner alone",
}
_CREATING_CALLS = {"os.mkdir", "os.makedirs", "os.mknod", "os.symlink", "os.link", "os.truncate"}
_CREATING_METHODS = {"mkdir", "write_text", "write_bytes", "symlink_to"}


def files_made_elsewhere(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """A file opened for writing by its name alone may be a link to another one, and is readable to strangers."""
    for node in nodes_of(tree):
        if not isinstance(node, ast.Call):
            continue
        called, arguments = dotted(node.func), [*node.args, *(keyword.value for keyword in node.keywords)]
        if called == "os.open":
            makes = any(re.search(r"O_(?:CREAT|WRONLY|RDWR|TRUNC)", ast.unparse(each)) for each in arguments)
        elif called == "open" or called.endswith("Path.open"):
            modes = [*node.args[1:2], *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
            makes = any(set(ast.unparse(mode)) & set("wax+") for mode in modes)
        else:
            makes = called in _CREATING_CALLS or called.rpartition(".")[2] in _CREATING_METHODS
        if makes:
            yield node.lineno, f"make files with kraft.storage.creation, not with {called}"


#: The modules that may open a file to read it in another way, with their reasons.
MAY_OPEN = {
    **MAY_CREATE,
    "config/properties.py": "reads the file that the user names, which may be a pipe of the shell",
    "storage/atomic.py": "opens directories",
}


def files_opened_elsewhere(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """A pipe in the place of a file blocks its reader forever."""
    for node in nodes_of(tree):
        opens = isinstance(node, ast.Call) and dotted(node.func) in ("open", "os.open")
        if opens and not any(keyword.arg == "opener" for keyword in node.keywords):
            yield node.lineno, "open files with kraft.storage.creation"


#: The places that a check exempts.
EXEMPT = {"worldly_things": MAY_ASK, "files_made_elsewhere": MAY_CREATE, "files_opened_elsewhere": MAY_OPEN}


def is_exempt(check: str, path: Path) -> bool:
    return any((PACKAGE / place) in (path, *path.parents) for place in EXEMPT.get(check, ()))


_CLAUSE_AS_SUBJECT = re.compile(r"(?:^|[.;!?] )(?:What|Who|Whoever|Whom|That which)\b(?![^.]*(?:\?|: ))")
_HARD_TO_READ = re.compile(r"\b(?:but for|whereof|that which|whoever|whomever)\b", re.IGNORECASE)
#: Words for things that Kafka, Raft or Trio name: request, response, receive, refusal, epoch. Names in code are exempt.
_PRIVATE_WORDS = re.compile(
    r"\b(?:tells?|told|hears?|heard|doubt(?:s|ed)?|complaints?|reigns?|somebody|anybody)\b", re.I
)
_IN_TITLES = (_HARD_TO_READ, _PRIVATE_WORDS)
_CODE = re.compile(r"``.+?``|`[^`]+`")


def hard_to_read(text: str, *, may_be_title: bool = False) -> Iterator[str]:
    """Yield the places of a text that a reader with English as a second language reads twice."""
    prose = _CODE.sub("x", " ".join(text.split()))
    for pattern in _IN_TITLES if may_be_title else (_CLAUSE_AS_SUBJECT, *_IN_TITLES):
        found = pattern.search(prose)
        if found is not None:
            yield f"hard to read: {prose[found.start() : found.start() + 60]}"


def hard_sentences(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """A sentence has an actor, a verb and an object; one with a clause as its subject has to be read twice."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield from ((node.lineno, found) for found in hard_to_read(node.value.value))


def hard_messages(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Log lines, help texts, reasons and errors are read like pages. Some of them are titles."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield from ((node.lineno, found) for found in hard_to_read(node.value, may_be_title=True))


_RAISES = re.compile(r"^( *)Raises:\n((?:\1 {4,}\S.*(?:\n|$))+)", re.MULTILINE)


def blocks_of_one_error(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """CONTRIBUTING.md: a block ``Raises:`` is for several errors; one error is a sentence."""
    for node in nodes_of(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            for indent, block in _RAISES.findall(node.value.value):
                errors = re.findall(rf"^{indent} {{4}}(\S[^:]*):", block, re.MULTILINE)
                if len(errors) == 1 and "," not in errors[0]:
                    yield node.lineno, f"a block for one error: write 'Raises {errors[0]} if …'"


_NO_PROSE = re.compile(r"^```.*?^```|<details>.*?</details>|^\|.*?$", re.MULTILINE | re.DOTALL)


def hard_pages(root: Path) -> Iterator[str]:
    """Check the pages; code, folded transcripts and tables are no prose. Only the changelog may grow without end."""
    for path in (*root.glob("*.md"), *(root / "docs").rglob("*.md")):
        name, text = path.relative_to(root), path.read_text()
        if text.count("\n") > MAX_PAGE_LINES and path.name != CHANGELOG:
            yield f"{name}: more than {MAX_PAGE_LINES} lines: give it chapters, and a map of them"
        for paragraph in re.split(r"\n\s*\n|\n\s*(?=[-*] |\d+\. )", _NO_PROSE.sub("\n\n", text)):
            yield from (f"{name}: {found}" for found in hard_to_read(paragraph))


CHECKS = [
    blocks_of_one_error,
    files_made_elsewhere,
    files_opened_elsewhere,
    hard_messages,
    hard_sentences,
    long_functions,
    unbounded_shields,
    stored_nurseries,
    unbounded_channels,
    swallowed_cancellations,
    worldly_things,
]
FAULTS = {
    "blocks_of_one_error": '"""Return it.\n\nRaises:\n    KafkaError: it is not\n        there.\n"""',
    "files_made_elsewhere": "os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)",
    "files_opened_elsewhere": "open(path, 'rb')",
    "hard_messages": "logger.warning('%s heard of %s', a, b)",
    "hard_sentences": '"""What was appended is sent."""',
    "long_functions": "def f():\n" + "    pass\n" * MAX_FUNCTION_LINES,
    "unbounded_shields": "with trio.CancelScope(shield=True): pass",
    "stored_nurseries": "self._nursery = nursery",
    "unbounded_channels": "trio.open_memory_channel[int](math.inf)",
    "worldly_things": "from time import monotonic\nmonotonic()",
    "swallowed_cancellations": "try:\n    pass\nexcept BaseException:\n    pass",
}


def test_the_code_keeps_the_habits() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path, tree in trees()
        for check in CHECKS
        if not is_exempt(check.__name__, path)
        for line, what in check(tree)
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_check_can_fail(check: object) -> None:
    assert callable(check)
    assert list(check(ast.parse(FAULTS[check.__name__])))


def test_pages_and_tests_are_easy_to_read() -> None:
    tests = [
        f"{path.relative_to(ROOT)}:{line}: {found}"
        for path in sorted((ROOT / "tests").rglob("*.py"))
        for line, found in hard_sentences(ast.parse(path.read_text(), str(path)))
    ]
    found = [*hard_pages(ROOT), *tests]
    assert not found, "\n".join(found)


def test_a_hard_page_is_found(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text(
        "# A page\n\n```\nWhoever\n```\n\n- `told` is code.\n- It hears of it.\n"
    )
    assert list(hard_pages(tmp_path)) == ["docs/page.md: hard to read: hears of it."]
    (tmp_path / "docs" / "page.md").write_text("# A page\n" * (MAX_PAGE_LINES + 1))
    assert list(hard_pages(tmp_path)) == ["docs/page.md: more than 400 lines: give it chapters, and a map of them"]


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("open(path, 'r+b')", 1),
        ("open(path, mode='w')", 1),
        ("os.open(path, flags | os.O_RDWR)", 1),
        ("os.makedirs(path)", 1),
        ("Path(path).write_text('')", 1),
        ("open(path, 'rb')", 0),
        ("open(path, encoding='ascii')", 0),
        ("os.open(path, os.O_RDONLY | os.O_CLOEXEC)", 0),
    ],
)
def test_each_way_to_make_a_file_is_found(source: str, found: int) -> None:
    assert len(list(files_made_elsewhere(ast.parse(source)))) == found


@pytest.mark.parametrize(
    "source",
    [
        "import random\nrandom.random()",
        "import random as dice\ncore(dice)",
        "import time\nclock = time.time",
        "import uuid\nuuid.uuid4()",
        "from uuid import uuid4\nfield(factory=uuid4)",
        "import trio\ntrio.to_thread.run_sync(work)",
        "from random import Random\nRandom()",
        "import random\nfield(factory=random.Random)",
    ],
)
def test_each_use_of_a_worlds_capability_is_found(source: str) -> None:
    assert len(list(worldly_things(ast.parse(source)))) == 1


@pytest.mark.parametrize(
    "source",
    ["from random import Random\nRandom(seed)", "import uuid\nuuid.UUID(int=1)", "import trio\ntrio.current_time()"],
)
def test_a_seeded_generator_or_a_trio_clock_is_not(source: str) -> None:
    assert not list(worldly_things(ast.parse(source)))


def test_no_two_classes_share_a_name() -> None:
    """One name for two things makes a reader of an import, a traceback or a search guess. Generated messages keep the
    names of Kafka's specification, and a private class belongs to its module.
    """
    places: dict[str, list[str]] = {}
    for path, tree in trees():
        for node in nodes_of(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(f"{path.relative_to(ROOT)}:{node.lineno}")
    shared = [f"{name}: {', '.join(found)}" for name, found in sorted(places.items()) if len(found) > 1]
    assert not shared, "\n".join(shared)


_DURATION_IN_MS = re.compile(r"(?:backoff|deadline|delay|idle|interval|lag|lag_max|timeout|wait)_ms")
CORES = ("raft", "controller", "broker", "coordinator")


def durations_in_ms(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every core counts time in seconds (docs/architecture.md, "The shape of a core")."""
    for node in nodes_of(tree):
        if isinstance(node, ast.arg | ast.Name | ast.Attribute):
            name = node.arg if isinstance(node, ast.arg) else node.id if isinstance(node, ast.Name) else node.attr
            is_defined = isinstance(node, ast.arg) or isinstance(node.ctx, ast.Store)
            if is_defined and _DURATION_IN_MS.search(name):
                yield node.lineno, f"{name} in a core, which counts seconds"


def test_the_cores_count_seconds() -> None:
    assert list(durations_in_ms(ast.parse("def f(timeout_ms: int) -> None: ...")))
    found = [
        f"{path.relative_to(ROOT)}:{line}: {what}"
        for path, tree in trees()
        if not set(CORES).isdisjoint(path.relative_to(ROOT).parts)
        for line, what in durations_in_ms(tree)
    ]
    assert not found, "\n".join(found)


def test_no_module_is_too_long() -> None:
    lengths = {path: len(path.read_text().splitlines()) for path in sources()}
    long = [f"{path.relative_to(ROOT)}: {lines}" for path, lines in lengths.items() if lines > MAX_MODULE_LINES]
    assert not long, f"split at {MAX_MODULE_LINES} lines: {long}"


def test_every_module_has_a_docstring() -> None:
    silent = [str(path.relative_to(ROOT)) for path, tree in trees() if tree.body and ast.get_docstring(tree) is None]
    assert not silent


# Names of places that only their authors have, and notes to themselves.
_PRIVATE = re.compile(r"/home/\w|/root/\w|/Users/\w|\bTODO\b|\bFIXME\b|\bXXX\b")


def test_the_repository_has_no_private_notes() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout: there is no list of what is published")
    found = []
    for name in filter(None, listed.stdout.decode().split("\0")):
        path = ROOT / name
        if (
            name == "tests/test_tidy.py"
            or not path.is_file()
            or path.suffix not in {".py", ".md", ".toml", ".ini", ".json", ""}
        ):
            continue
        for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
            if _PRIVATE.search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)
