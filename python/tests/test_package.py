"""What is installed with the package."""

from importlib.metadata import files


def test_the_licences_come_with_it():
    licences = {path.name: path.read_text() for path in files("labelwood") if "licenses" in path.parts}
    assert "MIT License" in licences["LICENSE-MIT"]
    assert "Apache License" in licences["LICENSE-APACHE"]
