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
}


# Without any font pages have no text to lay out; with this one the screens look alike everywhere.
FONT = Path("/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf")


def missing() -> list[str]:
    """Return the Debian packages whose program or font is not there."""
    places = [str(folder) for folder in Path("/usr/lib/postgresql").glob("*/bin")]
    path = os.pathsep.join([*places, os.environ.get("PATH", ""), "/usr/sbin"])
    packages = [package for name, package in NEEDED.items() if shutil.which(name, path=path) is None]
    return packages if FONT.exists() else [*packages, "fonts-dejavu-core"]


def main() -> int:
    """Install what is missing; 1 with the names when that cannot be done."""
    packages = missing()
    if not packages:
        return 0
    if os.geteuid() != 0 or shutil.which("apt-get") is None:
        print(f"The tests need these Debian packages: {' '.join(packages)}. Install them and run make test again.")
        return 1
    print(f"Installing {' '.join(packages)}", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    subprocess.run(["apt-get", "update", "-qq"], check=True, env=environment, stdout=subprocess.DEVNULL)
    install = ["apt-get", "install", "-y", "-qq", "--no-install-recommends", *packages]
    subprocess.run(install, check=True, env=environment, stdout=subprocess.DEVNULL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
