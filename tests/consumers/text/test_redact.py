"""Redaction: every rule replaces its secrets wherever they occur, and nothing else."""

import threading

import pytest

from consumers.columns import as_texts, string_column
from consumers.text.mask import Masker
from consumers.text.redact import BadRule, Redactor
from consumers.text.redact_rules import RULES
from consumers.text.word_patterns import WORD_MASKS

AKIA = "AKIA" + "IOSFODNN7EXAMPLE"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY"
GITHUB = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
STRIPE = "sk_" + "live_4eC39HqLyjWDarjtT1zdp7dc"
SLACK = "xoxb-" + "17653672481-19874698323-pdFZKVeTuE8sk7oOcHrzqqgy"
GOOGLE = "AIza" + "SyDaGmWKa4JsXZ-HjGw7ISLn_3namBGewQe"
JWT = "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"
PEM = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA1c7+9z5Pad7OejecsQ0b\nu3aj==\n-----END RSA PRIVATE KEY-----"

GOES = {
    "private-key": [
        (PEM, "<private-key>"),
        (f"key={PEM}, next", "key=<private-key>, next"),
        (PEM.replace("\n", "\\n") + '"}', '<private-key>"}'),
        ("-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEA", "<private-key>"),
        ("a -----BEGIN PGP PRIVATE KEY BLOCK-----\nx\n-----END PGP PRIVATE KEY BLOCK----- b", "a <private-key> b"),
        (f"{PEM} and {PEM}", "<private-key> and <private-key>"),
        ("-----BEGIN ENCRYPTED PRIVATE KEY-----abc", "<private-key>"),
    ],
    "url-login": [
        ("https://user:pass@host/p", "https://<login>@host/p"),
        ("GET postgres://app:p@ss@db:5432/x failed", "GET postgres://<login>@db:5432/x failed"),
        ('"redis://:s3cret@cache:6379"', '"redis://<login>@cache:6379"'),
        ("ssh://git@host", "ssh://<login>@host"),
        ("https://a:b@x,https://c:d@y", "https://<login>@x,https://<login>@y"),
    ],
    "password": [
        ("password=hunter2", "password=<password>"),
        ("login bob PASSWORD=hunter2, ok", "login bob PASSWORD=<password>, ok"),
        ("passwd: hunter2 next", "passwd: <password> next"),
        ("pwd=x;uid=sa", "pwd=<password>;uid=sa"),
        ("PWD=S3cret;Server=x", "PWD=<password>;Server=x"),
        ("dbPwd=x MYSQL_PWD=y", "dbPwd=<password> MYSQL_PWD=<password>"),
        ("secret=abc token=def api_key=ghi", "secret=<password> token=<password> api_key=<password>"),
        ("apiKey: 0123456789abcdef.", "apiKey: <password>"),
        ("client_secret = a1b2", "client_secret = <password>"),
        ('{"password": "two words", "a": 1}', '{"password": "<password>", "a": 1}'),
        ('{"token":"x\\"y","a":1}', '{"token":"<password>","a":1}'),
        (r"{\"password\": \"p\n w\", \"a\": 1}", r"{\"password\": \"<password>\", \"a\": 1}"),
        ("{'passwd': 'two words'}", "{'passwd': '<password>'}"),
        ('password="cut off', 'password="<password>'),
        ("/login?user=a&password=x%20y&next=/", "/login?user=a&password=<password>&next=/"),
        ("password%3Dabc", "password%3D<password>"),
        ("{user=bob, password=p)w}", "{user=bob, password=<password>}"),
        (":password=>'x', password => \"y\"", ":password=>'<password>', password => \"<password>\""),
        ("password=<b0ld>x", "password=<password>"),
        ("password=nullable", "password=<password>"),
        ("X-Auth-Token: 3f9a2b7c8d1e", "X-Auth-Token: <password>"),
        ("passphrase:abc\tend", "passphrase:<password>\tend"),
        ('"password": 12345,', '"password": <password>,'),
        ("mysql -u root --password swordfish db", "mysql -u root --password <password> db"),
        ("x --client_secret abc12345", "x --client_secret <password>"),
        ("x --client_secret a.b-c4def --api-key 0123456789", "x --client_secret <password> --api-key <password>"),
        ("join --token abcdef.0123456789abcdef --new-token x1234567", "join --token <password> --new-token <password>"),
        ("x --token \"two words\" --db-password 'a b'", "x --token \"<password>\" --db-password '<password>'"),
        ("['--password', 'a b', '--v']", "['--password', '<password>', '--v']"),
        (r'{"cmd": "[\"--token\", \"x\"]"}', r'{"cmd": "[\"--token\", \"<password>\"]"}'),
        ("<a><password>x y</password><b>1</b></a>", "<a><password><b>1</b></a>"),
        ('<Password>x</Password> <ns:accessToken n="1">y</ns:accessToken>', "<password> <password>"),
        ("password: <token>two words</token>z", "password: <password> words</token>z"),
        ("def f(password: strict", "def f(password: <password>"),
    ],
    "bearer": [
        ("Authorization: Bearer abc", "Authorization: Bearer <bearer>"),
        ("authorization: basic dXNlcjpwYXNz==", "authorization: basic <bearer>"),
        ('{"Authorization":"Bearer a.b-c"}', '{"Authorization":"Bearer <bearer>"}'),
        (r'"{\"authorization\": \"Bearer a.b-c\"}"', r'"{\"authorization\": \"Bearer <bearer>\"}"'),
        ("-H 'Proxy-Authorization: Basic eDp5' x", "-H 'Proxy-Authorization: Basic <bearer>' x"),
        ("headers={Authorization=[Bearer abc]}", "headers={Authorization=[Bearer <bearer>]}"),
        ('Authorization: Digest username="a b", uri=/x, response="6f", qop=auth', "Authorization: Digest <bearer>"),
        ('Authorization: Hawk id="d", mac="a=', "Authorization: Hawk <bearer>"),
        (
            "Authorization: AWS4-HMAC-SHA256 Credential=a/b, SignedHeaders=host;date, Signature=fe",
            "Authorization: AWS4-HMAC-SHA256 <bearer>",
        ),
        (r'{"Authorization": "Digest a=\"x\", b=\"y\"", "c": 1}', '{"Authorization": "Digest <bearer>", "c": 1}'),
        ("-H 'Authorization: Digest a=x, b=y' z", "-H 'Authorization: Digest <bearer>' z"),
        ("sent Bearer 0123456789abcdef0123.", "sent Bearer <bearer>"),
    ],
    "jwt": [
        (JWT, "<jwt>"),
        (f"got {JWT}.", "got <jwt>."),
        (f'id_token%3D{JWT}"', 'id_token%3D<jwt>"'),
        (f"/cb?t={JWT}&x=1", "/cb?t=<jwt>&x=1"),
        ("eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0. x", "<jwt>. x"),
        ("eyJhbGciOiJkaXIifQ..48V1_ALb6US04U3b.5eym8TW.XFBoMYUZ", "<jwt>"),
    ],
    "cloud-key": [
        (AKIA, "<cloud-key>"),
        (f'id="{AKIA}",', 'id="<cloud-key>",'),
        (f"aws_secret_access_key={AWS_SECRET}", "aws_secret_access_key=<cloud-key>"),
        (f'"SecretAccessKey": "{AWS_SECRET}"', '"SecretAccessKey": "<cloud-key>"'),
        (f"AWS_SECRET_ACCESS_KEY={AWS_SECRET} run", "AWS_SECRET_ACCESS_KEY=<cloud-key> run"),
        (f"git clone x {GITHUB}.", "git clone x <cloud-key>."),
        ("github_pat_" + "11ABCDEFG0123456789_abcdef", "<cloud-key>"),
        (f"({SLACK})", "(<cloud-key>)"),
        (f"?key={GOOGLE}&q=1", "?key=<cloud-key>&q=1"),
        (f"'{STRIPE}'", "'<cloud-key>'"),
        ("AccountName=a;AccountKey=" + "Zm9v" * 21 + "Zg==;E=x", "AccountName=a;AccountKey=<cloud-key>;E=x"),
        ("https://hooks.slack.com/services/" + "T00000000/B00000000/XXXXXXXXXXXX", "https://hooks.slack.com/services/<cloud-key>"),
        ("use sk-" + "proj-abcdefghij0123456789", "use <cloud-key>"),
        ("SG." + "a" * 22 + "." + "b" * 43, "<cloud-key>"),
    ],
    "email": [
        ("bob@example.com", "<email>"),
        ("mail <bob.o+x@mail.example.co.uk>, sent", "mail <<email>>, sent"),
        ('"to":"a_b@x-y.org."', '"to":"<email>."'),
        ("?to=bob%40example.com&x", "?to=<email>&x"),
        ("--jörg@müller.de--", "--<email>--"),
        ("用户bob@163.com登录", "用户<email>登录"),
        ("a@b.de c@d.services", "<email> <email>"),
        ("x@y.xn--p1ai", "<email>"),
        ("hdfs/nn@EXAMPLE.COM", "hdfs/<email>"),
    ],
    "iban": [
        ("DE89370400440532013000", "<iban>"),
        ("to DE89 3704 0044 0532 0130 00.", "to <iban>."),
        ("GB82WEST12345698765432,NL91ABNA0417164300", "<iban>,<iban>"),
        ('"NO93 8601 1117 947"', '"<iban>"'),
        ("acc_DE89370400440532013000_1", "acc_<iban>_1"),
    ],
    "ipv6": [
        ("from 2001:db8::a1 port 1", "from <ip> port 1"),
        ("[fe80::1%eth0]:80 ::1", "[<ip>%eth0]:80 <ip>"),
        ("::ffff:10.0.0.1", "<ip>"),
        ("connect to fe80::1: no route, 2001:db8::.", "connect to <ip>: no route, <ip>."),
        ("2001:0db8:85a3:0000:0000:8a2e:0370:7334", "<ip>"),
    ],
    "ipv4": [
        ("10.0.0.1", "<ip>"),
        ("from=10.0.0.1:8080, /10.0.0.2.", "from=<ip>:8080, /<ip>."),
        ('"255.255.255.255"', '"<ip>"'),
    ],
    "card": [
        ("4111111111111111", "<card>"),
        ("pan=4111 1111 1111 1111, ok", "pan=<card>, ok"),
        ('"5555-5555-5555-4444"', '"<card>"'),
        ("3782 822463 10005", "<card>"),
        ("378282246310005/30569309025904", "<card>/<card>"),
        ("at 10 4111 1111 1111 1111 0327 123", "at 10 <card> 0327 123"),
        ("4000 4111 1111 1111 1111", "4000 <card>"),
        ("4222222222222.", "<card>."),
        ("6011000990139424 3530111333300000", "<card> <card>"),
        ("4000000000000000006", "<card>"),
        ("card_4111111111111111", "card_<card>"),
        ("card_4111111111111111 CC-4111-1111-1111-1111 my_pan_4111111111111111", "card_<card> CC-<card> my_pan_<card>"),
    ],
}
STAYS = {
    "private-key": ["-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "BEGIN PRIVATE KEY", "-----BEGIN CERTIFICATE-----"],
    "url-login": ["https://host/a@b", "http://host?m=a@b", "http://host:80 x@y", "https://<login>@host", "://@host", "a@b://"],
    "password": [
        "Failed password for root from 10.0.0.1 port 22 ssh2",
        "password=",
        "password= user=bob",
        "(password=) or `password=`)",
        "password=null, token=None&secret=true",
        '{"password": null, "token": ""}',
        '{"password": ["too short"]}',
        "PWD=/home/bob OLDPWD=/tmp",
        "max_tokens=512 tokens: 12 keys=4 monkey=3",
        "unexpected token: identifier",
        "for stream/token: com.apple.xpc.activity/4505: 132",
        "password=<password>, secret='<hidden>'",
        "the secret is out; a token was sent",
        "def login(user: str, password: str) -> User: # password: SecretStr",
        "WARNING! Using --password via the CLI is insecure. Use --password-stdin.",
        "give --password or --token; --password is needed, --password must be set",
        "usage: [--token TOKEN] [--password <pw>] [--password=] --token string   Bearer token for the API",
        "pg_dump --no-password mydb",
        "x --auth-token --retries5 --password -u root --token $TOKEN",
        "--tokenizer gpt2 --max-tokens 512 --pad-token 0 --eos-token <|im_end1234|>",
        "user <password> and </password>",
        "<password></password> <token><id>1</id></token>",
        "password=<Password> x</Password>y",
    ],
    "bearer": [
        "bearer 5 activated",
        "Bearer authentication failed",
        "authorization: denied",
        "authorization: digest failed",
        "digest a=b",
        "Authorization: Bearer <bearer>",
    ],
    "jwt": ["eyJhbGciOiJIUzI1NiJ9", "eyJ.a.b", "eyJhbGci .eyJ"],
    "cloud-key": ["AKIA123", "task-abcdefghijklmnopqrstuvwxyz", "xoxo-hugs", "aws_secret_access_key", "ghp_short"],
    "email": ["user@host", "getty@tty1.service", "GET /logo@2x.png", "Object@1a2b3c", "root@10.0.0.1", "@Autowired.a", "lodash@4.17.21"],
    "iban": [
        "DE88370400440532013000",
        "DE90370400440532013000",
        "DE89 3704 0044 0532 0130 0",
        "XX89370400440532013000",
        "DE8937040044053201300012",
        "aDE89370400440532013000",
    ],
    "ipv6": ["12:34:56", "std::add", "a::b", "00:1a:2b:3c:4d:5e", "50:06:01:60:3b:a0:11:22", "1:2:3:4:5:6:7:8:9", "::"],
    "ipv4": ["1.2.3.4.5", "256.1.1.1", "v1.2.3.4", "1.2.3", "10.0.19041.1"],
    "card": [
        "4111111111111112",
        "41111111111111111",
        "1608999687919862906 blk_4111111111111111 blk_-4111111111111111",
        "0.4111111111111111 4111111111111111.5",
        "1445144423722 1700000000000000",
        "4111 1111 1111 111",
        "4111-1111-1111-1111-123456789012 a1b2c3d4-4111-1111-1111-111111111111",
        "4111-1111 1111-1111",
        "0000000000000000",
        "discard_4111111111111111 span-4111111111111111 order_4111111111111111",
    ],
}
STAND_INS = sorted({rule.replacement.rstrip("@") for rule in RULES})
NAMES = [rule.name for rule in RULES]


def redact(text: str, *rules: str) -> str:
    (redacted,) = Redactor(rules).redact([text])
    return redacted


def test_every_rule_has_its_examples() -> None:
    assert NAMES == list(GOES) == list(STAYS)


def test_a_secret_goes_and_what_is_around_it_stays(subtests: pytest.Subtests) -> None:
    for name, text, expected in ((name, *case) for name, cases in GOES.items() for case in cases):
        with subtests.test(name, text=text):
            assert redact(text, name) == expected
            assert redact(expected, name) == expected
            # a truncated block extends to the end
            assert redact(f"first\n{text}\nlast", name) in {f"first\n{expected}\nlast", f"first\n{expected}"}


def test_what_only_looks_like_a_secret_stays(subtests: pytest.Subtests) -> None:
    for name, text in ((name, text) for name, texts in STAYS.items() for text in texts):
        with subtests.test(name, text=text):
            redactor = Redactor([name])
            assert redactor.redact([text]) == [text]
            assert redactor.counts == {name: 0}


def test_a_text_without_a_secret_is_handed_back_as_it_is() -> None:
    texts = ["Failed password for root", "plain ünïcode \x00 語\r\n", "", "lone \ud800 surrogate"]
    assert all(after is before for after, before in zip(Redactor(NAMES).redact(texts), texts, strict=True))


def test_a_column_without_a_secret_is_handed_back_as_it_is() -> None:
    for texts in (["Failed password for root", "plain ünïcode \x00 語\r\n", ""], [], ["only looks like one: password=null, v1.2.3.4"]):
        column = string_column(texts)
        assert Redactor(NAMES).redact_column(column) is column


def test_a_column_is_redacted_as_a_list_is_also_when_it_begins_in_the_middle_of_memory() -> None:
    texts = ["a", "b@x.com", "語", f"d {AKIA}", "", "f 4111111111111111 b@x.com"]
    expected = ["a", "<email>", "語", "d <cloud-key>", "", "f <card> <email>"]
    assert as_texts(Redactor("all").redact_column(string_column(texts))) == expected
    assert as_texts(Redactor("all").redact_column(string_column(["g@x.com", *texts, "h@x.com"]).slice(1, len(texts)))) == expected


def test_texts_come_back_in_their_order() -> None:
    texts = ["a", "b@x.com", "c", f"d {AKIA}", "e", "f 4111111111111111 b@x.com"]
    assert Redactor("all").redact(texts) == ["a", "<email>", "c", "d <cloud-key>", "e", "f <card> <email>"]


@pytest.mark.parametrize("rules", [(), ("email",), ("all",)])
def test_no_texts_give_no_texts(rules: tuple[str, ...]) -> None:
    assert Redactor(rules).redact([]) == []


def test_without_rules_nothing_is_looked_at() -> None:
    redactor = Redactor(())
    assert redactor.redact([PEM, "b@x.com"]) == [PEM, "b@x.com"]
    assert redactor.counts == {}


def test_a_rule_that_is_off_leaves_its_secrets() -> None:
    assert redact("b@x.com 4111111111111111 password=x", "card") == "b@x.com <card> password=x"


@pytest.mark.parametrize("rules", ["all", ("all",), ["all", "email"]])
def test_all_is_every_rule_but_those_for_addresses(rules: str | list[str]) -> None:
    assert list(Redactor(rules).counts) == [name for name in NAMES if name not in {"ipv4", "ipv6"}]


def test_addresses_can_be_named_besides_all() -> None:
    assert redact("b@x.com from 10.0.0.1 or fe80::1", "all", "ipv4", "ipv6") == "<email> from <ip> or <ip>"


@pytest.mark.parametrize(
    ("name", "near"), [("emial", "email"), ("creditcard", "card"), ("ALL", "all"), ("private_key", "private-key"), ("a\nb", "")]
)
def test_an_unknown_rule_is_refused_in_one_line_with_the_nearest(name: str, near: str) -> None:
    with pytest.raises(BadRule) as refused:
        Redactor(["email", name])
    assert near in str(refused.value)
    assert repr(name) in str(refused.value)
    assert "\n" not in str(refused.value)


def test_replacements_are_counted_by_rule_not_by_line() -> None:
    redactor = Redactor("all")
    redactor.redact(["a@x.com b@x.com 4111111111111111", "password=x&token=y c@x.com", "nothing", 'secret="a<password>b"'])
    redactor.redact(["d@x.com"])
    assert {name: count for name, count in redactor.counts.items() if count} == {"email": 4, "card": 1, "password": 3}


def test_counts_are_read_while_another_thread_redacts() -> None:
    redactor = Redactor("all")
    started = threading.Event()

    def work() -> None:
        for _ in range(50):
            redactor.redact(["a@x.com"] * 10)
            started.set()

    worker = threading.Thread(target=work)
    worker.start()
    started.wait()
    seen = [sum(redactor.counts.values()) for _ in range(100)]
    worker.join()
    assert seen == sorted(seen)
    assert redactor.counts["email"] == 500


def test_what_holds_other_secrets_goes_whole() -> None:
    text = f"password=p@ss.word!x token={JWT} https://{AKIA}:{GITHUB}@h Authorization: Bearer {JWT} secret=4111111111111111z"
    assert redact(text, "all") == (
        "password=<password> token=<password> https://<login>@h Authorization: Bearer <bearer> secret=<password>"
    )


def test_a_replacement_survives_the_masks_of_variables_and_meets_no_rule(subtests: pytest.Subtests) -> None:
    masker = Masker(disabled=[mask.name for mask in WORD_MASKS])  # those of words take values out, replaced or not
    for replacement in STAND_INS:
        with subtests.test(replacement):
            texts = [
                replacement,
                f"user {replacement} failed",
                f"https://{replacement}host",
                f"password={replacement}",
                f'"token": "{replacement}"',
                f"Bearer {replacement}",
            ]
            assert all(replacement in masked for masked in masker.mask(texts))
            redactor = Redactor(NAMES)
            assert redactor.redact(texts) == texts
            assert not any(redactor.counts.values())


@pytest.mark.parametrize("text", ["password=\ud800", "b@x.com \ud800"])
def test_a_lone_surrogate_beside_a_secret_is_no_error(text: str) -> None:
    assert "?" in redact(text, "email") or text.startswith("password")
    assert "\ud800" not in redact(text, "password", "email")


HOSTILE = {
    "private-key": "-----BEGIN PRIVATE KEY-----",
    "url-login": "://a@",
    "password": "--token a1",
    "bearer": "authorization: digest a=b, ",
    "jwt": "eyJabcdefgh.a",
    "cloud-key": AKIA,
    "email": "a@b.co.1",
    "iban": "DE89 3704 ",
    "ipv6": "from 2001:db8::a1 port 1",
    "ipv4": "1.",
    "card": "4111 ",
}
"""For each rule, the unit whose repetition takes longest."""


def test_a_megabyte_of_one_thing_is_redacted(subtests: pytest.Subtests) -> None:
    assert list(HOSTILE) == NAMES
    for name, part in HOSTILE.items():
        with subtests.test(name):
            text = part * (1_000_000 // len(part))
            redacted = redact(text, *NAMES)
            assert redact(redacted, *NAMES) == redacted
