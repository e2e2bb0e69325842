"""Errors in Python's words: the program's message with options as keyword arguments, in classes that Python knows."""
from __future__ import annotations

import difflib
import re
from typing import Iterable

from ._core import ForerunError


class InputError(ForerunError, ValueError):
    """A value or a file is wrong; the message says what, where and what to do."""


class OptionError(InputError, TypeError):
    """No argument of that name."""


class NotFoundError(ForerunError, KeyError):
    """No device, network or result of that name."""

    __str__ = Exception.__str__  # KeyError would show the message in quotes


class MissingPackageError(ForerunError, ImportError):
    """An optional package is not installed; the message names it."""


class ForerunWarning(UserWarning):
    """Something was assumed that the caller did not say."""


_CLASSES = {"bad_input": InputError, "too_large": InputError, "not_found": NotFoundError}
_WORDS = (
    (re.compile(r"no device given: --device ID.*"), "no device given: device='h200-sxm' (forerun.devices() lists them)"),
    (re.compile(r"`?\bforerun (devices|networks|predictors)\b`?"), r"forerun.\1()"),
    (re.compile(r"GET /v1/(devices|networks|predictors)"), r"forerun.\1()"),
)
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z-]*)(?: [A-Z]+=?[A-Z]*(?![\w]))?")


def in_python_s_words(message: str) -> str:
    for pattern, words in _WORDS:
        message = pattern.sub(words, message)
    return _OPTION.sub(lambda match: "dims" if match.group(1) == "dim" else match.group(1).replace("-", "_"), message)


def of_kind(kind: str, message: str) -> ForerunError:
    error = _CLASSES.get(kind, ForerunError)(message)
    error.kind = kind
    return error


def translated(error: ForerunError) -> ForerunError:
    return of_kind(error.kind, in_python_s_words(str(error)))


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """"; did you mean 'batch'?", or nothing."""
    names = sorted(known)
    near = difflib.get_close_matches(word.lower(), names, n=3, cutoff=0.6)
    near += [name for name in names if word and name.startswith(word.lower()) and name not in near]
    if not near:
        return ""
    return "; did you mean " + " or ".join(f"'{name}'" for name in near[:3]) + "?"


def unknown_name(what: str, name: str, known: Iterable[str]) -> NotFoundError:
    known = list(known)
    hint = did_you_mean(name, known)
    if not hint and known:
        hint = ": there is " + ", ".join(f"'{one}'" for one in known[:8]) + (" …" if len(known) > 8 else "")
    error = NotFoundError(f"no {what} '{name}'{hint}")
    error.kind = "not_found"
    return error


def unknown_argument(function: str, name: str, known: Iterable[str]) -> OptionError:
    error = OptionError(f"{function}() got an unexpected keyword argument '{name}'{did_you_mean(name, known)}")
    error.kind = "bad_input"
    return error
