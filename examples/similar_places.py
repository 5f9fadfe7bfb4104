"""Move visits to similar places: the quality loss is measured over a tree of kinds of place."""

import elsewhere as ew

kinds = ew.Taxonomy.parse(
    "kinds.txt",
    b"""Food
  Italian Restaurant
  French Restaurant
Arts
  Cinema
  Museum
""",
)
evenings = {"Italian Restaurant": 6, "French Restaurant": 4, "Cinema": 6, "Museum": 4}

flat = ew.hide(evenings, {"Italian Restaurant"})
over_tree = ew.hide(evenings, {"Italian Restaurant"}, taxonomy=kinds, levels=[0.9, 0.1])
for name, result in (("place by place", flat), ("over the tree", over_tree)):
    food = sum(count for place, count in result.histogram.items() if "Restaurant" in place)
    print(f"{name}: {dict(result.histogram)}, {food} of 10 visits are still for food")
