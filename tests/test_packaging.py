"""Packages and the image: what is in them, and that they work where nothing else is installed."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from recollect import __version__

ROOT = Path(__file__).parent.parent
DOCKERFILE = ROOT / "Dockerfile"
NOT_SHIPPED = {"__pycache__", ".DS_Store"}


def run(*command: str | Path, cwd: Path, **variables: str) -> str:
    """The output of a command that must succeed, with an environment that does not know this repository."""
    environment = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("RECOLLECT_", "PYTHON", "VIRTUAL_ENV"))
    }
    words = [str(each) for each in command]
    finished = subprocess.run(words, cwd=cwd, env=environment | variables, capture_output=True, text=True)
    assert finished.returncode == 0, f"{shlex.join(words)}\n{finished.stdout}\n{finished.stderr}"
    return finished.stdout


def package_files() -> set[str]:
    """All files of the package, as git has them: whatever is there is shipped."""
    files = (path.relative_to(ROOT) for path in (ROOT / "recollect").rglob("*") if path.is_file())
    return {file.as_posix() for file in files if not NOT_SHIPPED.intersection(file.parts)}


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--outdir", folder, ROOT, cwd=folder)  # the wheel is made from the archive
    return {"wheel": next(folder.glob("*.whl")), "archive": next(folder.glob("*.tar.gz"))}


@pytest.mark.slow
def test_the_wheel_has_every_file_of_the_package_and_the_manual_page(packages: dict[str, Path]) -> None:
    names = set(zipfile.ZipFile(packages["wheel"]).namelist())
    others = {name for name in names if not name.startswith("recollect/")}
    assert names - others == package_files()
    assert "recollect/embed/minilm/vocab.txt" in names  # data, not only code
    prefix = f"recollect-{__version__}"
    assert f"{prefix}.data/data/share/man/man1/recollect.1" in others
    assert all(name.startswith(prefix) for name in others)


@pytest.mark.slow
def test_the_source_archive_has_what_a_build_needs_and_no_more(packages: dict[str, Path]) -> None:
    with tarfile.open(packages["archive"]) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
    top = {name.partition("/")[0] for name in names}
    assert top == {
        "recollect",
        "man",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "pyproject.toml",
        "PKG-INFO",
        ".gitignore",
    }
    assert package_files() <= set(names)


@pytest.fixture(params=["pip", "uv"])
def environment(request: pytest.FixtureRequest, packages: dict[str, Path], tmp_path: Path) -> Path:
    """An empty environment with nothing but the wheel and its dependencies."""
    folder = tmp_path / "environment"
    run(sys.executable, "-m", "venv", folder, *(["--without-pip"] if request.param == "uv" else []), cwd=tmp_path)
    if request.param == "pip":
        run(folder / "bin" / "pip", "install", "--quiet", packages["wheel"], cwd=tmp_path)
    else:
        run(sys.executable, "-m", "venv", tmp_path / "uv", cwd=tmp_path)
        run(tmp_path / "uv" / "bin" / "pip", "install", "--quiet", "uv>=0.5,<1", cwd=tmp_path)
        uv, python = tmp_path / "uv" / "bin" / "uv", folder / "bin" / "python"
        run(uv, "pip", "install", "--quiet", "--python", python, packages["wheel"], cwd=tmp_path)
    return folder


@pytest.mark.slow
def test_an_installed_package_remembers_and_recalls(environment: Path, tmp_path: Path) -> None:
    check_remember_and_recall(environment / "bin" / "recollect", tmp_path)
    where = run(environment / "bin" / "python", "-c", "import recollect; print(recollect.__file__)", cwd=tmp_path)
    assert where.startswith(str(environment))
    assert (environment / "share" / "man" / "man1" / "recollect.1").read_text("utf-8").startswith(".TH RECOLLECT 1")


def check_remember_and_recall(recollect: Path | str, folder: Path, **variables: str) -> None:
    assert run(recollect, "--version", cwd=folder, **variables) == f"recollect {__version__}\n"
    run(recollect, "remember", "The blue cup is on the top shelf.", cwd=folder, **variables)
    run(recollect, "remember", "Anna is allergic to peanuts.", cwd=folder, **variables)
    answer = json.loads(run(recollect, "recall", "where is the mug?", "-k", "1", "--json", cwd=folder, **variables))
    assert answer["results"][0]["memory"]["text"] == "The blue cup is on the top shelf."


def instructions() -> Iterator[tuple[str, str]]:
    """The instructions of the Dockerfile with their arguments; continued lines are one."""
    text = re.sub(r"\\\n\s*", "", re.sub(r"^#.*\n", "", DOCKERFILE.read_text("utf-8"), flags=re.M))
    for line in text.splitlines():
        if line:
            name, _, arguments = line.partition(" ")
            yield name, arguments


def test_the_dockerfile_passes_its_linter() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint has no package for this platform")
    finished = subprocess.run([hadolint, DOCKERFILE], capture_output=True, text=True)
    assert (finished.returncode, finished.stdout) == (0, "")


def test_the_image_runs_without_root_and_gets_only_what_it_needs() -> None:
    found = dict(instructions())  # the last of each name, which is that of the image
    assert not found["USER"].startswith(("root", "0"))
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text("utf-8").splitlines() if line.startswith("!")}
    copied = {
        each
        for name, words in instructions()
        if name == "COPY" and "--from" not in words
        for each in words.split()[:-1]
    }
    assert copied == allowed
    build_files = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "man", "recollect"}
    assert copied == build_files


@pytest.mark.slow
def test_the_steps_of_the_image_work_outside_of_a_container(tmp_path: Path) -> None:
    """Runs each instruction with the folders of the image below a temporary one, and then what the image starts."""
    image = Image(tmp_path)
    for name, arguments in instructions():
        image.run_instruction(name, arguments)
    assert image.user == "10001:10001"
    if os.geteuid() == 0:
        assert (tmp_path / "data").stat().st_uid == 10001
    entrypoint = shutil.which(image.entrypoint[0], path=image.variables["PATH"])
    assert entrypoint == str(tmp_path / "opt" / "recollect" / "bin" / "recollect")
    check_remember_and_recall(entrypoint, tmp_path, **image.variables)
    assert (tmp_path / "data" / "memory.db").exists()
    check_server_is_healthy(image, entrypoint)


def check_server_is_healthy(image: Image, entrypoint: str) -> None:
    """Starts the command of the image on a free port, and waits until its health check succeeds."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    variables = os.environ | {name: value.replace(":8420", f":{port}") for name, value in image.variables.items()}
    command = [entrypoint, *(port if word == "8420" else word for word in image.command)]
    refused = subprocess.run(command, env=variables, cwd=image.folder, capture_output=True, text=True)
    assert (refused.returncode, "--tls-cert" in refused.stderr) == (2, True)  # it says what to give
    certificate = "openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -keyout key.pem -out cert.pem"
    run(*certificate.split(), cwd=image.root)
    tls = ["--tls-cert", str(image.root / "cert.pem"), "--tls-key", str(image.root / "key.pem")]
    with subprocess.Popen([*command, *tls], env=variables, cwd=image.folder) as server:
        try:
            deadline = time.monotonic() + 120
            while subprocess.run(image.health_check, env=variables, capture_output=True).returncode != 0:
                assert server.poll() is None, "the server has ended"
                assert time.monotonic() < deadline, "the server did not become healthy"
                time.sleep(0.5)
        finally:
            server.terminate()


def base_python() -> str:
    """The Python of the base image where this machine has it, otherwise the one that runs the tests."""
    version = re.search(r"python:(3\.\d+)-slim", DOCKERFILE.read_text("utf-8"))
    found = version and shutil.which(f"python{version[1]}")
    works = found and subprocess.run([found, "-c", "import venv, ensurepip"], capture_output=True).returncode == 0
    return str(found) if works else sys.executable


class Image:
    """The state of an image that is built below a folder: working folder, variables, user, what it starts."""

    def __init__(self, root: Path) -> None:
        self.root, self.folder, self.user = root, root, "root"
        self.entrypoint: list[str] = []
        self.command: list[str] = []
        self.health_check: list[str] = []
        tools = root / "tools"  # python as the base image has it
        tools.mkdir()
        (tools / "python").write_text(f'#!/bin/sh\nexec {base_python()} "$@"\n')
        (tools / "python").chmod(0o755)
        self.variables = {"PATH": f"{tools}:{os.environ['PATH']}"}

    def _inside(self, text: str) -> str:
        """The text with the folders of the image below the root."""
        return re.sub(r"(?<![\w.:/])/(src|opt|data)\b", rf"{self.root}/\1", text)

    def run_instruction(self, name: str, arguments: str) -> None:
        if name == "WORKDIR":
            self.folder = Path(self._inside(arguments))
            self.folder.mkdir(parents=True, exist_ok=True)
        elif name == "COPY":
            self._copy(arguments)
        elif name == "RUN":
            script = arguments if os.geteuid() == 0 else re.sub(r"chown \S+", "test -d", arguments)
            run("bash", "-euc", self._inside(script), cwd=self.folder, **self.variables)
        elif name == "ENV":
            for each in shlex.split(arguments):
                variable, _, value = each.partition("=")
                self.variables[variable] = self._inside(value).replace("$PATH", self.variables["PATH"])
        elif name == "USER":
            self.user = arguments
        elif name == "HEALTHCHECK":
            self.health_check = json.loads(arguments.partition(" CMD ")[2])
        elif name in ("ENTRYPOINT", "CMD"):
            setattr(self, {"ENTRYPOINT": "entrypoint", "CMD": "command"}[name], json.loads(arguments))
        else:
            assert name in ("FROM", "VOLUME", "EXPOSE"), name

    def _copy(self, arguments: str) -> None:
        *sources, target = [each for each in arguments.split() if not each.startswith("--")]
        if "--from=" in arguments:  # the stages share one folder, so it is there already
            assert [self._inside(each) for each in sources] == [self._inside(target)]
            assert Path(self._inside(target)).is_dir()
            return
        for source in sources:
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, self.folder / target, ignore=shutil.ignore_patterns(*NOT_SHIPPED))
            else:
                shutil.copy(ROOT / source, self.folder / target)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_completes_commands_and_options(shell: str, tmp_path: Path) -> None:
    if not shutil.which(shell):
        pytest.skip(f"{shell} is not installed")
    folder = Path(sys.executable).parent
    script = run(folder / "recollect", cwd=tmp_path, _RECOLLECT_COMPLETE=f"source_{shell}")
    (tmp_path / "completion").write_text(script)
    run(shell, "-n", "completion", cwd=tmp_path)  # its syntax
    ask = {
        "bash": "source ./completion; COMP_WORDS=(recollect why); COMP_CWORD=1; _recollect_completion recollect; "
        'printf "%s\\n" "${COMPREPLY[@]}"',
        "zsh": 'words=(recollect why); CURRENT=2; compdef() { :; }; _arguments() { print -r -- "$@" }; '
        "source ./completion; _recollect_completion",
        "fish": 'source ./completion; complete -C "recollect why"',
    }
    path = f"{folder}:{os.environ['PATH']}"
    found = run(shell, "-c", ask[shell], cwd=tmp_path, PATH=path, HOME=str(tmp_path))
    assert "why-not" in found
    assert "remember" not in found
