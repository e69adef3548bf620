# The package's own module is one literal of 1.5 MB, whose type takes a checker most of its time.
from genai_prices.types import Provider

providers: list[Provider]
