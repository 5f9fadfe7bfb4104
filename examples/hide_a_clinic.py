"""Hide one place, check the release, and see what would have gone wrong with plain deletion."""

import elsewhere as ew

history = {"Home": 30, "Office": 20, "Café": 8, "Gym": 6, "Clinic": 4}

moved = ew.hide(history, sensitive={"Clinic"})
print("moved:  ", dict(moved.histogram), "size", moved.histogram.size)
print("checked:", ew.verify(history, moved, sensitive={"Clinic"}).ok)

# A smaller total tells that four visits are missing.
deleted = ew.hide(history, sensitive={"Clinic"}, redistribute=0)
print("deleted:", dict(deleted.histogram), "size", deleted.histogram.size)

# A typing error does not become a release that hides nothing.
try:
    ew.hide(history, sensitive={"Clinik"})
except ew.InputError as error:
    print("typo:   ", error)
