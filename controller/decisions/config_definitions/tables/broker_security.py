"""Configs of brokers: TLS, SASL, authorization, tokens. Source: KafkaConfig of Kafka 4.0."""

BROKER_SECURITY = """
allow.everyone.if.no.acl.found | boolean | false | | file
    Whether everything is allowed on resources without any ACL.
authorizer.class.name | string | | | file
    Class of the authorizer.
delegation.token.expiry.check.interval.ms | long | 3600000 | 1.. | file
    Interval between removals of expired tokens.
delegation.token.expiry.time.ms | long | 86400000 | 1.. | file
    Lifetime of a token that is not renewed.
delegation.token.master.key | password | | | file
    Older name of delegation.token.secret.key.
delegation.token.max.lifetime.ms | long | 604800000 | 1.. | file
    Longest lifetime of a token.
delegation.token.secret.key | password | | | file
    Key that signs delegation tokens.
enable.fips.mode | boolean | false | | file
    Whether only FIPS algorithms are used.
password.encoder.cipher.algorithm | string | AES/CBC/PKCS5Padding | | file
    Cipher of passwords stored in ZooKeeper.
password.encoder.secret | password | | | file
    Secret of passwords stored in ZooKeeper.
principal.builder.class | class | | | broker
    Class that makes a principal of a connection.
sasl.client.callback.handler.class | class | | | file
    Class that answers SASL callbacks of a client.
sasl.enabled.mechanisms | list | GSSAPI | | broker
    SASL mechanisms that the broker takes.
sasl.jaas.config | password | | | broker
    Login of SASL connections, in the form of JAAS.
sasl.kerberos.kinit.cmd | string | /usr/bin/kinit | | broker
    Path of kinit.
sasl.kerberos.min.time.before.relogin | long | 60000 | | broker
    Pause between refreshes of the login.
sasl.kerberos.principal.to.local.rules | list | DEFAULT | | broker
    Rules from principals to user names.
sasl.kerberos.service.name | string | | | broker
    Kerberos principal of the broker.
sasl.kerberos.ticket.renew.jitter | double | 0.05 | | broker
    Random share added to the renewal time.
sasl.kerberos.ticket.renew.window.factor | double | 0.8 | | broker
    Share of a ticket's lifetime after which it is renewed.
sasl.login.callback.handler.class | class | | | file
    Class that answers callbacks of the login.
sasl.login.class | class | | | file
    Class of the login.
sasl.login.connect.timeout.ms | int | | | file
    Timeout of connections to the provider of logins. (3.1)
sasl.login.read.timeout.ms | int | | | file
    Timeout of answers of the provider of logins. (3.1)
sasl.login.refresh.buffer.seconds | short | 300 | 0..3600 | broker
    Seconds before expiry at which a login is refreshed at the latest.
sasl.login.refresh.min.period.seconds | short | 60 | 0..900 | broker
    Shortest time between refreshes of a login.
sasl.login.refresh.window.factor | double | 0.8 | 0.5..1 | broker
    Share of a login's lifetime after which it is refreshed.
sasl.login.refresh.window.jitter | double | 0.05 | 0..0.25 | broker
    Random share added to the refresh time.
sasl.login.retry.backoff.max.ms | long | 10000 | | file
    Longest pause before a login is tried again. (3.1)
sasl.login.retry.backoff.ms | long | 100 | | file
    First pause before a login is tried again. (3.1)
sasl.mechanism.controller.protocol | string | GSSAPI | | file
    SASL mechanism between controllers.
sasl.mechanism.inter.broker.protocol | string | GSSAPI | | broker
    SASL mechanism between brokers.
sasl.oauthbearer.clock.skew.seconds | int | 30 | | file
    Tolerated difference of clocks. (3.1)
sasl.oauthbearer.expected.audience | list | | | file
    Audiences of which a token needs one. (3.1)
sasl.oauthbearer.expected.issuer | string | | | file
    Issuer that a token needs. (3.1)
sasl.oauthbearer.header.urlencode | boolean | false | | file
    Whether client id and secret are URL-encoded in the header. (3.6)
sasl.oauthbearer.jwks.endpoint.refresh.ms | long | 3600000 | | file
    Interval between refreshes of the key set. (3.1)
sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms | long | 10000 | | file
    Longest pause before the key set is fetched again. (3.1)
sasl.oauthbearer.jwks.endpoint.retry.backoff.ms | long | 100 | | file
    First pause before the key set is fetched again. (3.1)
sasl.oauthbearer.jwks.endpoint.url | string | | | file
    Address of the key set. (3.1)
sasl.oauthbearer.scope.claim.name | string | scope | | file
    Claim that holds the scope. (3.1)
sasl.oauthbearer.sub.claim.name | string | sub | | file
    Claim that holds the subject. (3.1)
sasl.oauthbearer.token.endpoint.url | string | | | file
    Address of the token provider. (3.1)
sasl.server.callback.handler.class | class | | | file
    Class that answers SASL callbacks of a server.
sasl.server.max.receive.size | int | 524288 | | file
    Largest SASL message before authentication. (3.4)
security.inter.broker.protocol | string | PLAINTEXT | PLAINTEXT SSL SASL_PLAINTEXT SASL_SSL | file
    Security protocol between brokers.
security.providers | string | | | file
    Classes of security providers.
ssl.allow.dn.changes | boolean | false | | file
    Whether a new key store may have another distinguished name. (3.7)
ssl.allow.san.changes | boolean | false | | file
    Whether a new key store may have other alternative names. (3.7)
ssl.cipher.suites | list | | | broker
    Cipher suites.
ssl.client.auth | string | none | required requested none | broker
    Whether clients need a certificate.
ssl.enabled.protocols | list | TLSv1.2,TLSv1.3 | | broker
    Enabled protocols.
ssl.endpoint.identification.algorithm | string | https | | broker
    How a server's name is checked; empty is not at all.
ssl.engine.factory.class | class | | | broker
    Class that makes TLS engines.
ssl.key.password | password | | | broker
    Password of the private key.
ssl.keymanager.algorithm | string | SunX509 | | broker
    Algorithm of the key manager.
ssl.keystore.certificate.chain | password | | | broker
    Certificate chain, in PEM.
ssl.keystore.key | password | | | broker
    Private key, in PEM.
ssl.keystore.location | string | | | broker
    Path of the key store.
ssl.keystore.password | password | | | broker
    Password of the key store.
ssl.keystore.type | string | JKS | | broker
    Format of the key store.
ssl.principal.mapping.rules | string | DEFAULT | | file
    Rules from distinguished names to principals.
ssl.protocol | string | TLSv1.3 | | broker
    Protocol of the TLS context.
ssl.provider | string | | | broker
    Security provider.
ssl.secure.random.implementation | string | | | broker
    Random number generator.
ssl.trustmanager.algorithm | string | PKIX | | broker
    Algorithm of the trust manager.
ssl.truststore.certificates | password | | | broker
    Trusted certificates, in PEM.
ssl.truststore.location | string | | | broker
    Path of the trust store.
ssl.truststore.password | password | | | broker
    Password of the trust store.
ssl.truststore.type | string | JKS | | broker
    Format of the trust store.
super.users | string | | | file
    Principals that may do everything, separated by semicolons.
"""
