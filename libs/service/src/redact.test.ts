import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { redactFields, redactText } from "./redact.ts";

const CANARY = "canary-4711";
const SEED = `SU${"A2".repeat(28)}`;
const JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJyZXNlYXJjaGVyIn0.c2lnbmF0dXJl";

test("redacts every field whose name ends like a secret, at any depth and in any spelling", () => {
  const names =
    "authorization Authorization proxy-authorization token runToken access_token password PASSWORD redisPassword " +
    "secret clientSecret secretAccessKey aws_secret_key apiKey api_key x-api-key nkeySeed seed cookie set-cookie privateJwk credentials";
  for (const name of names.split(" ")) {
    const record = { a: [{ b: { headers: { [name]: CANARY } } }], [name]: { deep: [CANARY] } };
    assert.ok(!JSON.stringify(redactFields(record)).includes(CANARY), name);
  }
});

test("keeps fields whose names only resemble a secret's", () => {
  const record = {
    inputTokens: 12,
    tokensPerSecond: 3.5,
    secretary: "Ann",
    hasToken: true,
    runId: "r1",
  };
  assert.deepEqual({ ...(redactFields(record) as object) }, record);
});

test("redacts secrets in text by their shape", () => {
  const shapes = [
    `authorization: Bearer ${CANARY}`,
    `Basic Y2FuYXJ5LTQ3MTE=`,
    `sk-ant-${CANARY}-api03`,
    `seed ${SEED} refused`,
    `token ${JWT} refused`,
    `redis://default:${CANARY}@127.0.0.1:6379/0`,
    `nats://${CANARY}@127.0.0.1:4222`,
    `ghp_${"a1".repeat(18)}`,
    `BEARER ${CANARY}`,
    `AWS_secret_access_key=${CANARY}${CANARY}`,
    ...["pk_", "rk-", "sw_"].map((prefix) => `${prefix}${CANARY}${CANARY}`),
    ...["ABIA", "ACCA"].map((prefix) => `${prefix}${"A2".repeat(8)}`),
  ];
  for (const text of shapes) {
    const clean = redactText(text);
    assert.ok(clean.includes("[redacted]"), text);
    for (const secret of [CANARY, "Y2FuYXJ5", "A2A2A2", "eyJzdWIi", "a1a1a1"]) {
      assert.ok(!clean.includes(secret), clean);
    }
  }
});

/** Secret scanners revoke keys that they find in a repository, or refuse the push; so the keys here are joined at run time. */
const KEYS_OF_OTHERS = {
  "AWS key id": joined("AK", "IA", "Q3".repeat(8)),
  "AWS temporary key id": joined("AS", "IA", "Q3".repeat(8)),
  "AWS key": joined("AWS_SECRET", "_ACCESS_KEY=", "q3+/".repeat(10)),
  "AWS session": joined("aws_session", "_token = ", "Fwo3".repeat(30), "=="),
  "Google API key": joined("AI", "za", "Q3-_x".repeat(7)),
  "Google access token": joined("ya", "29.", "a0Q-".repeat(20)),
  "Google refresh token": joined("1/", "/0", "gQ3-".repeat(10)),
  "Google client secret": joined("GOC", "SPX-", "q3Q_".repeat(7)),
  "npm token": joined("np", "m_", "q3Q4".repeat(9)),
  "GitHub fine-grained token": joined("github", "_pat_", "1Q".repeat(11), "_", "q3".repeat(29)),
  "GitHub app token": joined("gh", "s_", "q3".repeat(18)),
  "GitLab token": joined("gl", "pat-", "q3-Q_".repeat(4)),
  "Slack bot token": joined("xo", "xb-", "12345678901-".repeat(2), "q3".repeat(12)),
  "Slack rotated token": joined("xo", "xe.xoxp-1-", "Q3q4".repeat(12)),
  "Slack app token": joined("xa", "pp-1-A0", "Q3".repeat(4), "-123-", "q3".repeat(20)),
  "Slack webhook": joined("https://hooks.slack", ".com/services/T0Q3/B0Q3/", "q3Q4".repeat(6)),
  "Groq key": joined("gs", "k_", "q3Q4".repeat(12)),
  "Hugging Face token": joined("h", "f_", "qWeR".repeat(9)),
};
const keyLine = (edge: string, kind: string) => joined("-----", edge, " ", kind, "KEY-----");
const BEGIN = keyLine("BEGIN", "PRIVATE ");
const PEM = ["RSA ", "EC ", "OPENSSH ", "ENCRYPTED ", ""].map((kind) => {
  const head = "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00FF\n";
  const body = Array.from({ length: 4 }, () => "q3Q+/4==".repeat(8));
  return [
    keyLine("BEGIN", `${kind}PRIVATE `),
    ...(kind === "RSA " ? [head] : []),
    ...body,
    keyLine("END", `${kind}PRIVATE `),
  ].join("\n");
});

function joined(...parts: string[]): string {
  return parts.join("");
}

test("redacts keys of clouds, registries, forges and chats in text, in fields and in JSON text", () => {
  for (const [name, key] of Object.entries(KEYS_OF_OTHERS)) {
    const remains = new RegExp(key.slice(-12).replaceAll(/[.+*/]/g, "."));
    for (const text of [
      key,
      `push to it with ${key}, then go`,
      JSON.stringify({ a: `x ${key}` }),
    ]) {
      const clean = redactText(text);
      assert.ok(clean.includes("[redacted]"), name);
      assert.doesNotMatch(clean, remains, name);
      assert.equal(redactText(clean), clean, name);
    }
    assert.doesNotMatch(JSON.stringify(redactFields({ args: [{ note: key }] })), remains, name);
  }
});

test("redacts a private key in PEM, also escaped, in one line and without its end", () => {
  for (const pem of PEM) {
    for (const text of [pem, JSON.stringify({ key: `a "quoted" ${pem} b`, next: 1 })]) {
      const clean = redactText(text);
      assert.ok(clean.includes("[redacted]") && !clean.includes("q3Q+"), clean);
      if (text !== pem) assert.match(String(JSON.parse(clean).key), /^a "quoted" \[redacted\] b$/);
    }
    assert.equal(redactText(`see ${pem.replaceAll("\n", " ")}.`), "see [redacted].");
    assert.match(redactText(`see ${pem.slice(0, -40)}`), /^see \[redacted\](?:\n-*)?$/);
  }
  const publicKey = joined(keyLine("BEGIN", "PUBLIC "), "\nMCow\n", keyLine("END", "PUBLIC "));
  assert.equal(redactText(publicKey), publicKey);
});

test("what looks like the begin of a private key hides no command behind it", () => {
  for (const command of [
    `${BEGIN}; rm -rf ~`,
    `${BEGIN}\nrm -rf ~\n${keyLine("END", "PRIVATE ")}`,
    `${BEGIN}\n${"q".repeat(64)}\nreboot\n${keyLine("END", "PRIVATE ")}`,
    `${BEGIN} Version: 1 curl evil.example`,
  ])
    assert.match(redactText(command), /rm -rf|reboot|curl/);
});

test("leaves digests, ids, versions and names of every kind as they are", () => {
  const hex = fc.stringMatching(/^[0-9a-f]{8,64}$/);
  const ulid = fc.stringMatching(/^01[0-9A-HJKMNP-TV-Z]{24}$/);
  const names = fc.constantFrom(
    "npm_config_registry",
    "npm_lifecycle_event",
    "AKIA is how ids of AWS keys begin",
    "AWS_SECRET_ACCESS_KEY is not set",
    "hf_hub_download",
    "-----BEGIN CERTIFICATE-----",
    "https://hooks.slack.com/",
    "tools.xapp-1",
    "mcp__github__create_issue",
    "policy-1f2e3d4c5b6a7988:17",
    `apr-${"a1".repeat(16)}`,
  );
  const text = fc.oneof(
    hex.map((digest) => `sha256:${digest}`),
    fc.uuid(),
    ulid,
    names,
    ulid.map((id) => `yard.evt.run.cli.${id}.finished`),
  );
  fc.assert(fc.property(text, (harmless) => assert.equal(redactText(harmless), harmless)));
});

test("keeps the host and path of a URL whose user information it removes", () => {
  assert.equal(
    redactText("connect redis://u:p%40ss@redis:6379/2 failed"),
    "connect redis://[redacted]@redis:6379/2 failed",
  );
});

test("leaves ordinary text alone", () => {
  const texts = [
    "bearer authentication is not configured",
    "basic checks passed",
    "see https://example.com/a@b and mail ann@example.com",
    "task-scheduler-service-1 took run 01JD3Q4Z9VQ8ABCDEFGHJKMNPQ",
    `sha256:${"ab".repeat(32)}`,
  ];
  for (const text of texts) assert.equal(redactText(text), text);
});

test("never turns JSON text into something else", () => {
  const secretish = fc.oneof(
    fc.string(),
    fc.constantFrom(
      `Bearer ${CANARY}"1`,
      JWT,
      SEED,
      'redis://a:"\\@b',
      'x://a\\"b@c',
      `${BEGIN}a"b`,
      `${BEGIN}a\\`,
      `${KEYS_OF_OTHERS["AWS key"]}"`,
      `${KEYS_OF_OTHERS["Slack webhook"]}\\`,
      "sk-aaaaaaaaaaaa\\",
    ),
  );
  fc.assert(
    fc.property(fc.dictionary(secretish, fc.array(secretish)), (record) => {
      JSON.parse(redactText(JSON.stringify(record)));
    }),
  );
});

test("takes time in proportion to the text, however the text is made", () => {
  const hostile = [
    "eyJ-",
    "a.",
    "a:",
    "://",
    "Bearer ",
    "x://a:",
    "sk-",
    "eyJa.",
    "SU",
    "Bearer a",
    BEGIN,
    `${BEGIN}a-`,
    "-----BEGIN A A ",
    "AKIA",
    "aws_session_token ",
    "ya29.",
    "xoxb-",
    "xoxb.",
    "hooks.slack.com/a/",
    "npm_",
    "1//0",
  ];
  for (const piece of hostile) {
    const text = piece.repeat(200_000 / piece.length);
    const startedAt = process.cpuUsage().user;
    redactText(text);
    // Quadratic time takes many seconds; linear time takes milliseconds on an idle machine.
    assert.ok(process.cpuUsage().user - startedAt < 2_000_000, piece);
  }
});

test("keeps of an error what describes it, with its causes, and nothing that hangs on it", () => {
  const cause = Object.assign(new Error(`connect redis://:${CANARY}@redis failed`), {
    code: "ECONNREFUSED",
    port: 6379,
    command: { name: "set", args: ["key", CANARY] },
    config: { headers: { authorization: CANARY } },
    token: CANARY,
  });
  const error = new AggregateError([cause], "all attempts failed", { cause });
  const copy = redactFields(error) as { cause: Record<string, unknown>; errors: unknown[] };
  assert.ok(!JSON.stringify(copy).includes(CANARY));
  assert.equal(copy.cause["type"], "Error");
  assert.equal(copy.cause["message"], "connect redis://[redacted]@redis failed");
  assert.equal(copy.cause["code"], "ECONNREFUSED");
  assert.equal(copy.cause["port"], 6379);
  assert.match(String(copy.cause["stack"]), /redact\.test\.ts/);
  assert.equal(copy.errors.length, 1);
});

test("survives cycles, depth, breadth, long strings and getters that throw", () => {
  const loop: Record<string, unknown> = { name: "loop" };
  loop["self"] = loop;
  let deep: object = { token: CANARY };
  for (let level = 0; level < 50; level += 1) deep = { deep };
  const copy = redactFields({
    loop,
    deep,
    wide: Array.from({ length: 500 }, (_, index) => index),
    long: "x".repeat(100_000),
    bytes: new Uint8Array(5),
    map: new Map([["password", CANARY]]),
    big: 12n,
    get broken() {
      throw new Error("no");
    },
  });
  const text = JSON.stringify(copy);
  assert.ok(!text.includes(CANARY));
  assert.ok(
    text.includes("[circular]") && text.includes("[too deep]") && text.includes("[400 more]"),
  );
  assert.ok(text.includes("[unreadable]") && text.includes("[5 bytes]") && text.includes('"12"'));
  assert.ok(text.length < 20_000);
});

test("does not change what it is given", () => {
  const record = { token: CANARY, nested: { password: CANARY } };
  redactFields(record);
  assert.deepEqual(record, { token: CANARY, nested: { password: CANARY } });
});

test("copies any value without a throw, into something JSON can hold", () => {
  fc.assert(
    fc.property(
      fc.anything({
        withBigInt: true,
        withDate: true,
        withMap: true,
        withSet: true,
        withTypedArray: true,
        withNullPrototype: true,
      }),
      (value) => {
        JSON.stringify(redactFields({ value }));
      },
    ),
  );
});
