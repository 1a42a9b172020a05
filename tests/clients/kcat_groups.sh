# kcat with a group: sh tests/clients/kcat_groups.sh HOST:PORT TOPIC. The topic has the records 0 and 1.
server=$1
topic=$2
member=$(timeout 4 kcat -b "$server" -G g "$topic" -q 2>&1)
status=$?
if [ $status = 124 ]; then subscribe=waits; else subscribe="exit code $status: ${member#*JoinGroup failed: }"; fi
read=$(kcat -b "$server" -C -t "$topic" -e -q -X group.id=g | tr '\n' ' ')
if [ "$read" = '0 1 ' ]; then assign=yes; else assign=$read; fi
printf '{"subscribe": "%s", "assign": "%s", "commit": "-", "committed": "-", "close": "-"}\n' "$subscribe" "$assign"
