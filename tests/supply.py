"""What Recollect is made of: python -m tests.supply [constraints]. Run by ``make check-supply``.

1. A bill of materials of the package and everything that it needs (CycloneDX, ``build/sbom.json``).
2. Every licence is one that allows use, change and redistribution.
3. The constraints file has a hash of each of them.
4. The wheel is the same when it is built twice.
5. No known vulnerability, where an advisory service of pip-audit can be reached; otherwise this says that it was not
   checked, and why.

``python -m tests.supply constraints`` writes ``constraints.txt``: the tested versions with the hashes of their files.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
SBOM, CONSTRAINTS = ROOT / "build" / "sbom.json", ROOT / "constraints.txt"
AUDIT_SECONDS = 300  # for each service
TESTED_ON = "Linux (x86-64, Python 3.11)"
ALLOWED = re.compile(
    r"\b(MIT|BSD|Apache|ISC|PSF|Python Software Foundation|MPL|Mozilla|Unlicense|zlib|0BSD|HPND|CC0|any-OSI|"
    r"public domain|LGPL|OSI Approved)\b",
    re.I,
)
REFUSED = re.compile(r"\b(AGPL|Affero|SSPL|(?<!L)GPL(?!.*(LGPL|exception))|proprietary|non-?commercial)\b", re.I)


def dependencies(name: str = "recollect") -> dict[str, Distribution]:
    """The package and all that it needs at run time, as installed here."""
    found: dict[str, Distribution] = {}
    waiting = [name]
    while waiting:
        each = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if each in found:
            continue
        try:
            found[each] = distribution(each)
        except PackageNotFoundError:
            continue  # for another system
        for text in found[each].requires or []:
            requirement = Requirement(text)
            if requirement.marker is None or requirement.marker.evaluate({"extra": ""}):
                waiting.append(requirement.name)
    return dict(sorted(found.items()))


def licence_of(package: Distribution) -> str:
    fields: Any = package.metadata
    classifiers = [each for each in fields.get_all("Classifier") or [] if each.startswith("License ::")]
    first_line = (fields.get("License") or "").strip().split("\n")[0]
    texts = [fields.get("License-Expression") or "", first_line, *(each.split(" :: ")[-1] for each in classifiers)]
    named = "; ".join(dict.fromkeys(filter(None, texts)))
    if named:
        return named
    for file in package.files or []:  # some packages only have the text
        if file.name.upper().startswith(("LICENSE", "LICENCE", "COPYING")):
            return Path(str(file.locate())).read_text("utf-8", "replace")[:200].strip().replace("\n", " ")
    return ""


def check_licences(found: dict[str, Distribution]) -> list[str]:
    problems = []
    for name, package in found.items():
        licence = licence_of(package)
        if REFUSED.search(licence) or not ALLOWED.search(licence):
            problems.append(f"{name} {package.version}: {licence or 'no licence is named'}")
    return problems


def write_sbom(found: dict[str, Distribution]) -> None:
    components = [
        {
            "type": "library",
            "name": name,
            "version": package.version,
            "purl": f"pkg:pypi/{name}@{package.version}",
            "licenses": [{"license": {"name": licence_of(package)[:200]}}],
        }
        for name, package in found.items()
        if name != "recollect"
    ]
    own = {"type": "application", "name": "recollect", "version": found["recollect"].version}
    record = {"bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1, "metadata": {"component": own}}
    SBOM.parent.mkdir(exist_ok=True)
    SBOM.write_text(json.dumps({**record, "components": components}, indent=1), "utf-8")


def wheel_hash() -> str:
    """The hash of a wheel that is built now."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
        command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", folder, str(ROOT)]
        subprocess.run(command, check=True, env=environment, stderr=subprocess.DEVNULL)
        (wheel,) = Path(folder).glob("*.whl")
        return hashlib.sha256(wheel.read_bytes()).hexdigest()


def check_constraints(found: dict[str, Distribution]) -> list[str]:
    """What is installed without a hash in the constraints file."""
    pinned = {
        re.sub(r"[-_.]+", "-", name).lower()
        for name in re.findall(
            r"^([A-Za-z0-9._-]+)==\S+ --hash=sha256:[0-9a-f]{64}$", CONSTRAINTS.read_text("utf-8"), re.M
        )
    }
    return [name for name in found if name != "recollect" and name not in pinned]


def audit(found: dict[str, Distribution]) -> str:
    """What pip-audit says about these versions, by the first of its services that answers for all of them."""
    try:
        import pip_audit  # noqa: F401
    except ImportError:
        return "not checked: pip-audit is not installed (pip install pip-audit)"
    pinned = "".join(f"{name}=={each.version}\n" for name, each in found.items() if name != "recollect")
    said = []
    for service in ("pypi", "osv"):
        with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
            file.write(pinned)
            file.flush()
            options = ["--no-deps", "--disable-pip", "--progress-spinner=off", "-f", "json", "-s", service]
            command = [sys.executable, "-m", "pip_audit", *options, "-r", file.name]
            try:
                done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=AUDIT_SECONDS)
            except subprocess.TimeoutExpired:
                said.append(f"{service}: no answer in {AUDIT_SECONDS} seconds")
                continue
        try:
            results = json.loads(done.stdout)["dependencies"]
        except (ValueError, KeyError):
            said.append(f"{service}: {(done.stderr.strip().splitlines() or ['no answer'])[-1][:120]}")
            continue
        if bad := [each for each in results if each.get("vulns")]:
            raise SystemExit(json.dumps(bad, indent=1))
        skipped = [each for each in results if "skip_reason" in each]
        if not skipped:
            return f"no known vulnerability in {len(results)} packages ({service})"
        said.append(f"{service} knows nothing of {len(skipped)} of {len(results)} packages")
    return f"not checked, as no advisory service answers for all packages: {'; '.join(said)}"


def write_constraints() -> None:
    """The versions and hashes that pip would install now, without the place that they come from."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        subprocess.run([*command, "--report", str(report), str(ROOT)], check=True, stderr=subprocess.DEVNULL)
        installs = json.loads(report.read_text("utf-8"))["install"]
    lines = [
        f"# The versions that were tested on {TESTED_ON}, with hashes: pip install --require-hashes -r constraints.txt"
    ]
    for each in sorted(installs, key=lambda each: each["metadata"]["name"].lower()):
        hashes = each["download_info"].get("archive_info", {}).get("hashes", {})
        if "sha256" in hashes:
            lines.append(f"{each['metadata']['name']}=={each['metadata']['version']} --hash=sha256:{hashes['sha256']}")
    CONSTRAINTS.write_text("\n".join(lines) + "\n", "utf-8")


def main() -> None:
    found = dependencies()
    write_sbom(found)
    print(f"{SBOM.relative_to(ROOT)}: {len(found)} packages")
    if problems := check_licences(found):
        raise SystemExit("Licences that are not allowed, or not known:\n" + "\n".join(problems))
    print("licences: all allow use, change and redistribution")
    if missing := check_constraints(found):
        raise SystemExit(
            f"{CONSTRAINTS.name} has no hash of: {', '.join(missing)} (python -m tests.supply constraints)"
        )
    print(f"{CONSTRAINTS.name}: a hash for each of them")
    first, second = wheel_hash(), wheel_hash()
    if first != second:
        raise SystemExit(f"The wheel differs when it is built twice: {first}, {second}")
    print(f"wheel: the same when built twice ({first[:16]}…)")
    print(f"vulnerabilities: {audit(found)}")


if __name__ == "__main__":
    write_constraints() if sys.argv[1:] == ["constraints"] else main()
