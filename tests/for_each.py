"""One test of a law over many cases: it says of which case it does not hold."""

import inspect
from collections.abc import Callable, Iterable

Test = Callable[..., None]


def for_each(name: str, cases: Iterable[object]) -> Callable[[Test], Test]:
    """Run a test once for every case, which its parameter of that name takes, as one test."""

    def decorate(test: Test) -> Test:
        def of_all(**others: object) -> None:
            for case in cases:
                try:
                    test(**{name: case}, **others)
                except AssertionError as error:
                    error.add_note(f"where {name} is {case!r}")
                    raise

        signature = inspect.signature(test)
        others = [parameter for key, parameter in signature.parameters.items() if key != name]
        of_all.__signature__ = signature.replace(parameters=others)
        of_all.pytestmark = getattr(test, "pytestmark", [])
        return of_all

    return decorate
