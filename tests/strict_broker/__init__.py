"""A strict client: a Kafka broker as far as its start, which fails on what would break a broker.

It is written from the rules of Kafka's source, 3.9 to 4.3, and shares no code with the product: not
the controller, the broker, the reader or the codec. It was never run beside a real Kafka.

    identity = Identity(100, cluster_id, RELEASES["4.0"], voters={1: ("127.0.0.1", port)})
    async with StrictBroker(identity) as broker:
        await broker.start()      # load the log, register, catch up, be unfenced
        await broker.shut_down()

Its raft client fetches `__cluster_metadata` and its snapshots in the background, its loader applies
what is committed, and its life cycle sends BrokerRegistration and BrokerHeartbeat. Whatever a
controller does that would end a broker, or keep it from serving, is a `BrokenError` with the rule
(`traps.Trap`) and with what would become of the broker. Rules of time are counted, not waited for:
a broker that would try for minutes gives up here after a few fruitless answers.

`fake.FakeController` is a controller that keeps all the rules, or breaks one of them: the tests of
the client see each rule fail.
"""
