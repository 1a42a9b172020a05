"""All maximum values of the log, each with its reason."""

MIB = 1024 * 1024

# As in Kafka's controller: a user operation that makes more records is refused as too large.
BATCH_RECORDS_MAX = 10_000

# Encoded size of one batch before compression; Kafka's largest raft batch.
BATCH_SIZE_BYTES_MAX = 8 * MIB

# What a reader will decompress. An imported batch of 8 MiB of Kafka's binary can be larger in
# Avro; anything beyond this was not written by us.
BLOCK_DECODED_BYTES_MAX = 64 * MIB

# A row takes at least 11 bytes, and some 200 once decoded: without this a block of 6 KB could ask
# for more than a gigabyte. An imported batch of 8 MiB holds fewer, at 10 bytes a record or more.
BLOCK_RECORDS_MAX = MIB

# Compression of random bytes adds a little: what a block may take on disk.
BLOCK_STORED_BYTES_MAX = BLOCK_DECODED_BYTES_MAX + MIB

# A segment is the unit of archiving and of Spark's pruning. Its size bounds what opening the log
# has to look at.
SEGMENT_SIZE_BYTES_MAX = 64 * MIB

# One index entry for this many stored bytes: reading to an entry costs at most this much.
INDEX_INTERVAL_BYTES = 64 * 1024

# One filter entry for this many stored bytes. Smaller runs have more tokens in all, larger ones
# are searched more often (benchmarks/README.md).
FILTER_INTERVAL_BYTES = 8 * 1024

# Blocks are written to the file when this much has been encoded, and before each sync.
WRITE_SIZE_BYTES = 256 * 1024

# A group that shares one sync ends here, so that encoding it never holds up the event loop for
# long, and its answers never wait for much more than themselves. Before compression.
GROUP_SIZE_BYTES_MAX = MIB
GROUP_BATCHES_MAX = 1_000

# A lone batch is committed in the event loop itself while the disk takes no longer than this, which
# no other task notices; handing it to a thread and back would cost about as much as the sync
# (docs/decisions/0004). After a slower one it takes as many quick ones before the loop waits again.
QUICK_SYNC_S_MAX = 0.001
QUICK_SYNCS_MIN = 8

# Appends that wait for a sync; more callers than this wait for room.
PENDING_BATCHES_MAX = 10_000

# A repeated request id is recognised this many offsets back. Finding them means reading that far
# back, once, when the first request with an id comes: about half a second.
REQUEST_WINDOW_OFFSETS = 100_000

# How long the commit mark may lag on stable storage after an append.
MARK_SYNC_INTERVAL_MS = 1_000

# A controller that writes NoOps pauses if it writes nothing for longer than this. By default it
# writes one every 500 ms; those of most real logs are at most 0.7 s apart, of a busy host 1.7 s.
NOOP_PAUSE_MS_MIN = 2_000

# A wall clock that is off by more than this was set by somebody, and a running writer does not
# follow it (clock.py). Time keeping at work corrects less: a leap second is 1 s, NTP steps by
# parts of a second, the pause of a virtual machine that moves to another host is some seconds.
# Mistakes are larger: the smallest difference of two time zones is 15 minutes.
CLOCK_JUMP_MS = 60_000

# A log's time goes at most this part faster or slower than real time to take a correction over:
# slow enough that no session of a broker ends by it, fast enough that an hour is made good in ten.
CLOCK_SLEW = 10

# A clock that swings to and fro warns this often at most.
CLOCK_WARNING_INTERVAL_MS = 600_000

# A last record that is ahead of the clock by less is what NTP makes of two restarts in a row.
CLOCK_AHEAD_WARNING_MS = 1_000

# How many records a follower takes in at once: enough that handing them over costs little, few
# enough that a thousand followers catching up fit in memory.
FOLLOW_READ_RECORDS = 1_000

# Where the system does not wake a follower, it looks this often: sooner than a person notices, and
# for about 1 % of a core.
FOLLOW_POLL_INTERVAL_MS = 50

# Where it does, a follower looks this often all the same: nothing wakes it when another machine
# writes to a shared file system, or when the whole directory is exchanged.
FOLLOW_RECHECK_INTERVAL_MS = 1_000

# How often a recorder looks at a live node: each look costs some milliseconds, so 1 % of a core.
RECORD_INTERVAL_MS = 1_000

# How long a recorder gathers batches before it writes them as a block; the source still has them.
RECORD_GATHER_MS = 10_000

# The same over the network. While a page or an alert follows the mirror, each change that is
# committed is written at once: in a block of its own it takes 40 bytes a record instead of 23.
OBSERVE_GATHER_MS = 1_000

# A follower says this often that it is there; a writer believes it for some time, because a busy
# process may be late.
FOLLOWED_NOTE_INTERVAL_MS = 1_000
FOLLOWED_FOR_MS = 5_000

# What waits in memory to be written, in the source's bytes: a leader sends up to 8 MiB at once.
PENDING_BYTES_MAX = 8 * MIB

# A gathered block ends after this many records, or so many bytes of the source: what reading one
# record costs grows with it, what a record takes on disk does hardly any more.
GATHERED_RECORDS_MAX = 128
GATHERED_BYTES_MAX = MIB

# What a mirror gathers in a second, rarely more than 90 records, is compressed thoroughly: 6 % less
# on disk for 0.2 ms of CPU a block. Blocks of an import from files are larger.
SMALL_BLOCK_BYTES_MAX = 6 * 1024

# The longest pause of a recorder whose source is away.
RECORD_RETRY_INTERVAL_MS_MAX = 30_000

assert BATCH_RECORDS_MAX < BATCH_SIZE_BYTES_MAX // 10 < BLOCK_RECORDS_MAX
assert BATCH_SIZE_BYTES_MAX < BLOCK_DECODED_BYTES_MAX < BLOCK_STORED_BYTES_MAX
assert GATHERED_BYTES_MAX + BATCH_SIZE_BYTES_MAX < BLOCK_DECODED_BYTES_MAX
assert GROUP_SIZE_BYTES_MAX < SEGMENT_SIZE_BYTES_MAX
assert INDEX_INTERVAL_BYTES < SEGMENT_SIZE_BYTES_MAX
assert FOLLOW_POLL_INTERVAL_MS < FOLLOW_RECHECK_INTERVAL_MS
assert FOLLOWED_NOTE_INTERVAL_MS + FOLLOW_RECHECK_INTERVAL_MS < FOLLOWED_FOR_MS
