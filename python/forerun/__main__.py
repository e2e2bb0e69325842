"""`forerun` and `python -m forerun`: the command line, the same as the program's."""
import sys

from . import _core


def main() -> int:
    return _core.run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
