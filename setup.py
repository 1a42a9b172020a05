"""Installs the migrations inside `replay`: an application may have a package `migrations`."""

import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py


class BuildWithMigrations(build_py):
    """Copies the folder `migrations`; in an editable install it stays where it is."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = Path(self.build_lib, "replay", "migrations")
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree("migrations", target, ignore=shutil.ignore_patterns("__pycache__"))


setup(cmdclass={"build_py": BuildWithMigrations})
