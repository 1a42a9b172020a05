# kcat with defaults: sh tests/clients/kcat.sh HOST:PORT TOPIC. The topic exists already, as kcat
# creates and deletes none.
server=$1
topic=$2
outcome() {
  if [ "$2" = "$3" ]; then echo "\"$1\": \"yes\","; else echo "\"$1\": \"$2\","; fi
}
listed=$(kcat -b "$server" -L -t "$topic" | grep -c "topic \"$topic\" with 1 partitions")
printf '0\n1\n' | kcat -b "$server" -P -t "$topic"
offset=$(kcat -b "$server" -Q -t "$topic:0:-1" | grep -o 'offset [0-9]*')
read=$(kcat -b "$server" -C -t "$topic" -e -q | tr '\n' ' ')
member=$(timeout 4 kcat -b "$server" -G g "$topic" -q -c 1 2>/dev/null)
waits=$?
echo '{"create": "-",'
outcome list "$listed" 1
outcome write "$read" '0 1 '
outcome offsets "$offset" 'offset 2'
echo '"configs": "-",'
outcome read "$read" '0 1 '
echo '"groups": "-",'
case $waits in 0) ;; 124) member=waits ;; *) member="exit code $waits" ;; esac
outcome subscribe "$member" 0
echo '"transact": "-",'
echo '"delete": "-"}'
