"""What the tests need from the operating system: installed when run as root on Debian, named otherwise."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

# program to look for -> Debian package
NEEDED = {
    "postgres": "postgresql",
    "redis-server": "redis-server",
    "chromium": "chromium",
    "setpriv": "util-linux",
    "xgettext": "gettext",
    "node": "nodejs",
    "npm": "npm",
}


# What the tests can do without: they say when they leave out containers, and Chromium itself does what its engine does.
OPTIONAL = {
    "dockerd": "docker.io",
    "chromium-headless-shell": "chromium-headless-shell",
}

# What checks the JavaScript, and the lock file that it was installed from.
SCRIPTS = Path("tests/node")
INSTALLED_FROM = SCRIPTS / "node_modules" / ".installed-from"

# Without any font pages have no text to lay out; with this one the screens look alike everywhere.
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


def missing() -> list[str]:
    packages = _not_found(NEEDED)
    return packages if FONT.exists() else [*packages, "fonts-dejavu-core"]


def _not_found(programs: dict[str, str]) -> list[str]:
    places = [str(folder) for folder in Path("/usr/lib/postgresql").glob("*/bin")]
    path = os.pathsep.join([*places, os.environ.get("PATH", ""), "/usr/sbin"])
    return [package for name, package in programs.items() if shutil.which(name, path=path) is None]


def main() -> int:
    """Install what is missing; 1 with the names when that cannot be done."""
    packages, optional = missing(), _not_found(OPTIONAL)
    can_install = os.geteuid() == 0 and shutil.which("apt-get") is not None
    if packages and not can_install:
        print(f"The tests need these Debian packages: {' '.join(packages)}. Install them and run make test again.")
        return 1
    if packages:
        _install(packages)
    for package in optional:
        try:
            if not can_install:
                raise PermissionError("installing needs root on Debian")
            _install([package])
        except (OSError, subprocess.CalledProcessError) as error:
            print(f"Going on without {package}: {error}", flush=True)
    return _install_scripts()


def _install_scripts() -> int:
    """Install the linter and the compiler of tests/node/package-lock.json, unless they are there; 1 where npm fails."""
    lock = (SCRIPTS / "package-lock.json").read_text()
    if INSTALLED_FROM.exists() and INSTALLED_FROM.read_text() == lock:
        return 0
    print("Installing what checks the JavaScript (some seconds)", flush=True)
    command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"]
    if subprocess.run(command, cwd=SCRIPTS).returncode != 0:
        print("npm could not install tests/node/package-lock.json: is a package registry within reach?")
        return 1
    INSTALLED_FROM.write_text(lock)
    return 0


def _install(packages: list[str]) -> None:
    print(f"Installing {' '.join(packages)}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment, stdout=subprocess.DEVNULL)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    subprocess.run(install, check=True, env=environment, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    sys.exit(main())
