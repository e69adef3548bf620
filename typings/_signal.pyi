from collections.abc import Callable

SIGALRM: int
ITIMER_REAL: int

def signal(number: int, handler: Callable[[int, object], None], /) -> object: ...
def setitimer(which: int, seconds: float, interval: float = 0.0, /) -> tuple[float, float]: ...
