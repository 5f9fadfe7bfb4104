#!/bin/sh
# A month's release from the shell: look, hide, verify, and continue the month before.
set -eu
folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
cd "$folder"

printf 'location,count\nHome,31\nOffice,19\nCafé,9\nChurch,2\n' > january.csv
printf 'location,count\nHome,59\nOffice,38\nCafé,9\nChurch,4\n' > february.csv

elsewhere look january.csv
elsewhere hide january.csv --sensitive preset:religion --quiet -o shared-january.csv
elsewhere hide february.csv --sensitive preset:religion --since shared-january.csv --quiet -o shared-february.csv
elsewhere verify february.csv shared-february.csv --sensitive preset:religion --since shared-january.csv
cat shared-february.csv

# Nothing that matches a name is an error, so that a script stops here instead of sharing too much.
elsewhere hide january.csv --sensitive mosque -o nothing.csv || echo "exit status $?"
