# kcat does what it promises: sh tests/clients/kcat_promises.sh HOST:PORT TOPIC. The topic exists.
server=$1
topic=$2
step() { echo "\"$1\": \"$2\","; }
echo '{'
step '-L' "$(kcat -b "$server" -L -t "$topic" | grep -o '[0-9]* brokers')"
sent=$(printf '0\n1\n2\n' | kcat -b "$server" -P -t "$topic" -z gzip && echo sent)
step '-P -z gzip' "$sent"
step '-Q, by time' "$(kcat -b "$server" -Q -t "$topic:0:1" | grep -o '[0-9]*$')"
step '-C -o -1 -e' "$(kcat -b "$server" -C -t "$topic" -o -1 -e -q)"
last=$(kcat -b "$server" -C -t "$topic" -c 1 -q)
echo "\"-C -c 1\": \"$last\"}"
