"""Python packages of a tool, in a folder of their own."""

import shutil
import subprocess
import sys


def install(folder, versions):
    """Installs the packages of the file `versions` into the folder, unless they are there. Needs pip."""
    kept = folder / "installed.txt"
    if kept.is_file() and kept.read_text() == versions.read_text():
        return
    shutil.rmtree(folder, ignore_errors=True)
    pip = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--root-user-action", "ignore", "--only-binary", ":all:"]
    subprocess.run([sys.executable, *pip, "--target", folder, "--requirement", versions], check=True)
    shutil.copyfile(versions, kept)
