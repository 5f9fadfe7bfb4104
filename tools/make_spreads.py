"""Give the shipped profiles their spreads, which are made up: `python -m tools.make_spreads`.

The members of a profile are invented. Half of each member's visits are to places of the profile, and half to places of
all shipped profiles, both by the member's own taste: a Dirichlet distribution around the weights. People who are not
members are the invented members of the other profiles. Nothing is measured.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from elsewhere import profiles
from elsewhere.model.arrays import Floats
from elsewhere.model.histogram import Histogram, Profile
from elsewhere.model.spread import Spread

FOLDER = Path(__file__).parents[1] / "src" / "elsewhere" / "data" / "profiles"
MEMBERS = 1000
SEED = 1
#: The median size of members, and the standard deviation of its logarithm.
_SIZE, _SIZE_SPREAD = 80.0, 0.7
#: The similarity of tastes: the sum of the parameters of the Dirichlet distribution.
_ALIKE = 6.0
#: The share of the visits to places of the profile, as the parameters of a beta distribution.
_BY_PROFILE = (5.0, 5.0)


def main() -> None:
    """Write a spread into the file of every shipped profile, replacing the existing one."""
    shipped = profiles.shipped()
    invented = {stored.name: members(stored.profile, [other.profile for other in shipped]) for stored in shipped}
    for stored in shipped:
        others = [member for name, some in invented.items() if name != stored.name for member in some]
        given = (pairs(group) for group in (invented[stored.name], others))
        spread = profiles.spread_of(stored.profile, next(given), others=next(given)).spread
        assert spread is not None
        file = FOLDER / f"{stored.name}.toml"
        text = file.read_text(encoding="utf-8").split("\n# Made up, like the weights")[0].rstrip("\n")
        file.write_text(f"{text}\n\n{as_toml(spread)}", encoding="utf-8")


def members(profile: Profile, everybody: list[Profile]) -> list[Histogram]:
    """The histograms of invented members."""
    places = sorted({name for other in everybody for name in other})
    own = np.array([profile[name] for name in places])
    common = np.array([sum(other[name] for other in everybody) / len(everybody) for name in places])
    random = np.random.default_rng([SEED, *profile.locations[0].encode(), len(profile)])
    found = []
    for _ in range(MEMBERS):
        size = max(10, round(random.lognormal(np.log(_SIZE), _SIZE_SPREAD)))
        part = random.beta(*_BY_PROFILE)
        shares = part * taste(random, own) + (1.0 - part) * taste(random, common)
        counts = random.multinomial(size, shares / shares.sum())
        found.append(Histogram(zip(places, counts.tolist(), strict=True)))
    return found


def taste(random: np.random.Generator, weights: Floats) -> Floats:
    """A member's own shares, around the weights."""
    drawn: Floats = random.gamma(_ALIKE * weights / weights.sum() + 1e-12)
    drawn /= drawn.sum()
    return drawn


def pairs(histograms: list[Histogram]) -> list[tuple[str, Histogram]]:
    """The histograms with names, as `profiles.learn` takes them."""
    return [(str(at), histogram) for at, histogram in enumerate(histograms)]


def as_toml(spread: Spread) -> str:
    """The tables of a spread, rounded, because more digits would be false precision."""
    lines = ["# Made up, like the weights: how members may differ from the profile and from each other.", "[spread]"]
    for name in ("distances", "places", "others"):
        values = (f"{value:.2f}" if name != "places" else f"{value:.0f}" for value in getattr(spread, name))
        lines.append(f"{name} = [{', '.join(values)}]")
    lines += ["", "[spread.visited]"]
    ranked = sorted(spread.visited.items(), key=lambda item: (-item[1], item[0]))
    return "\n".join([*lines, *(f'"{place}" = {share:.2f}' for place, share in ranked)]) + "\n"


if __name__ == "__main__":
    main()
