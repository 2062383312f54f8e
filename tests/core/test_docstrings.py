"""The examples in docstrings run as tests, module by module, on the package as installed."""

import doctest
import importlib
import pkgutil

import pytest

import equipoise

MODULES = sorted(
    found.name
    for found in pkgutil.walk_packages(equipoise.__path__, "equipoise.")
    if not found.name.endswith("__main__")
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_the_module_hold(name):
    module = importlib.import_module(name)
    assert doctest.testmod(module).failed == 0


def test_there_are_examples_to_run():
    finder = doctest.DocTestFinder(exclude_empty=True)
    examples = [
        t for name in MODULES for t in finder.find(importlib.import_module(name)) if t.examples
    ]
    assert len(examples) >= 20
