"""Puts the site's own element into the package: www/element.js is its one source."""

import shutil
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class CustomBuildHook(BuildHookInterface):
    @property
    def files(self):
        root = Path(self.root)
        return root.parent.parent / "www" / "element.js", root / "src" / "hushgrad" / "element.js"

    def initialize(self, version, build_data):
        source, copy = self.files
        # From a source distribution it is there already.
        if source.is_file():
            shutil.copyfile(source, copy)
        if not copy.is_file():
            raise FileNotFoundError(f"{source} is missing: build from a checkout, or from a source distribution")

    def finalize(self, version, build_data, artifact_path):
        source, copy = self.files
        # In a checkout the source itself is read, and no copy that may be old.
        if source.is_file():
            copy.unlink(missing_ok=True)
