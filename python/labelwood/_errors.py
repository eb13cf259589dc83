"""What goes wrong, as exceptions. The texts are those of the command."""


class LabelwoodError(Exception):
    """The base of all errors of labelwood."""

    __module__ = "labelwood"


class InputError(LabelwoodError, ValueError):
    """A file, a value or a setting is at fault, or a permission is missing."""

    __module__ = "labelwood"


class MachineError(LabelwoodError, OSError):
    """The machine is at fault: disk, memory, threads."""

    __module__ = "labelwood"


class MissingError(MachineError, FileNotFoundError):
    """A file or folder is not there."""

    __module__ = "labelwood"
