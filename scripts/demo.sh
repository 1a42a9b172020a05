#!/usr/bin/env bash
# The main job, from nothing: a history, its image, time travel, what was down, SQL, a Spark audit, and
# the digest computed in four ways. Prints each command before it runs.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"
log=demo/log
rm -rf demo
mkdir -p demo

run() {
  printf '\n$ %s\n' "$*"
  "$@"
}

run metalog demo "$log" --seed 1
run metalog info "$log"
run metalog image "$log" --at 500 | head -n 18
run metalog diff "$log" 2000 2020 | head -n 20 | cut -c -110
run metalog history "$log" broker:2 | head -n 12 | cut -c -110
run metalog blame "$log" partition:__consumer_offsets/0 --at 500
run metalog timeline "$log" --from 2000 --to 2200 | head -n 12 | cut -c -110
run metalog outages "$log" --broker 2 | head -n 12 | cut -c -110
run metalog snapshot create "$log"
run metalog sql sync "$log"
run metalog audit sql "$log" "SELECT type, count(*) AS records FROM log GROUP BY type ORDER BY records DESC LIMIT 5"

printf '\nthe digest of the image, computed in four ways:\n'
replay=$(metalog digest "$log" --by replay)
snapshot=$(metalog digest "$log" --by snapshot)
sql=$(metalog digest "$log" --by sql)
spark=$(metalog digest "$log" --by spark)
printf '  replay    %s\n  snapshot  %s\n  sql       %s\n  spark     %s\n' "$replay" "$snapshot" "$sql" "$spark"
for other in "$snapshot" "$sql" "$spark"; do
  if [ "$replay" != "$other" ]; then
    echo "error: the digests differ" >&2
    exit 1
  fi
done
echo "  they agree"

cat <<EOF

Try next (source .venv/bin/activate first):
  metalog image $log --at 10                     the cluster shortly after its birth
  metalog dump $log --to 20                      the records themselves
  metalog history $log broker:1                  every change of a broker
  metalog why $log partition:__consumer_offsets/0#leader   what led to a value
  metalog audit list                             what DuckDB or Spark can tell
  metalog import kraft DIR demo/mirror           a real cluster's __cluster_metadata-0
EOF
