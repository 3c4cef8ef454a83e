"""Secrets of sources and sinks are not recorded; what only looks like one is."""

from __future__ import annotations

import pytest

from backend.hosts.spark.start.secrets import HIDDEN, without_secrets

SECRET = (
    *(
        "password",
        "db.password",
        "passwd",
        "kafka.ssl.key.password",
        "passphrase",
        "pwd",
        "db.pass",
    ),
    *(
        "pass",
        "connectionString",
        "connection_string",
        "authorization",
        "kafka.header.Authorization",
    ),
    *("auth", "http.auth", "bearer", "sas", "signature", "X-Amz-Signature", "Cookie", "set-cookie"),
    *("jwt", "kafka.sasl.oauthbearer.config", "kafka.sasl.jaas.config", "accessKeyId", "api_key"),
    *("apiKey", "APIKey", "apikey", "fs.s3a.secret.key", "fs.s3a.access.key", "token", "authToken"),
    *("fs.azure.account.key.me.dfs.core.windows.net", "kafka.ssl.keystore.key", "privateKey"),
    *("credentials", "X-Amz-Credential", "clientSecret", "sig", "SharedAccessKey"),
)
PLAIN = (
    *(
        "path",
        "key",
        "primaryKey",
        "partition.key",
        "valid_key",
        "passenger",
        "passengers",
        "author",
    ),
    *("authors", "compass", "kafka.ssl.keystore.location", "kafka.ssl.truststore.location", "keys"),
    *("keyspace", "key.deserializer", "tokenizer", "secretary", "signal", "assign", "subscribe"),
    *("kafka.bootstrap.servers", "cookieless", "monkey", "turkey", "sasl.mechanism", "bypass_rate"),
)
ADDRESSES = (
    ("https://host/a?sig=SECRET7&b=1", f"https://host/a?sig={HIDDEN}&b=1"),
    ("https://host/a?b=1&api_key=SECRET7", f"https://host/a?b=1&api_key={HIDDEN}"),
    ("https://host/a?X-Amz-Signature=SECRET7", f"https://host/a?X-Amz-Signature={HIDDEN}"),
    (
        "jdbc:sqlserver://host;user=me;pwd=SECRET7;a=b",
        f"jdbc:sqlserver://host;user=me;pwd={HIDDEN};a=b",
    ),
    (
        "AccountName=me;AccountKey=SECRET7==;Suffix=x",
        f"AccountName=me;AccountKey={HIDDEN};Suffix=x",
    ),
    ("https://SECRET7@host/a", f"https://{HIDDEN}@host/a"),
    ("postgresql://me:SECRET7@host/db", f"postgresql://{HIDDEN}@host/db"),
    ("postgresql://me:p@SECRET7@host/db", f"postgresql://{HIDDEN}@host/db"),
    ("postgresql://me:p/SECRET7@host/db", f"postgresql://{HIDDEN}@host/db"),
    ("postgresql://me:p?SECRET7#@host/db", f"postgresql://{HIDDEN}@host/db"),
    ("a://me:SECRET7@h1,b://me:SECRET7@h2", f"a://{HIDDEN}@h1,b://{HIDDEN}@h2"),
    ("Bearer SECRET7", f"Bearer {HIDDEN}"),
    ("Authorization: Bearer SECRET7", f"Authorization: {HIDDEN} {HIDDEN}"),
    ("jdbc:postgresql://host/db?password=SECRET7", f"jdbc:postgresql://host/db?password={HIDDEN}"),
    ("host=h password='SECRET7 b' user=me", f"host=h password={HIDDEN} user=me"),
    ('{"user": "me", "password": "SECRET7"}', f'{{"user": "me", "password": {HIDDEN}}}'),
)
SHOWN = (
    "/data/pass@work/in.csv",
    "https://host:8080/a@b?mail=me@home&author=me",
    "https://host/a?passenger=3&key=a",
    "abfss://container@account.dfs.core.windows.net/path",
    "s3a://bucket/path/key=a/part.parquet",
    "select a, b from t where author = 'x' and key = 3",
    "h1:9092,h2:9092",
    "token",
)


@pytest.mark.parametrize("name", SECRET)
def test_what_a_secret_option_holds_is_hidden(name: str) -> None:
    assert without_secrets({name: "SECRET7"}) == {name: HIDDEN}
    assert without_secrets({"url": f"https://host/a?{name}=SECRET7"}) == {
        "url": f"https://host/a?{name}={HIDDEN}"
    }


@pytest.mark.parametrize("name", PLAIN)
def test_what_is_no_secret_is_shown(name: str) -> None:
    options = {name: "a", "url": f"https://host/a?{name}=a"}
    assert without_secrets(options) == options


@pytest.mark.parametrize(("value", "shown"), ADDRESSES)
def test_secrets_within_a_value_are_hidden(value: str, shown: str) -> None:
    assert without_secrets({"url": value}) == {"url": shown}


@pytest.mark.parametrize("value", SHOWN)
def test_the_rest_of_a_value_is_shown(value: str) -> None:
    assert without_secrets({"url": value}) == {"url": value}
