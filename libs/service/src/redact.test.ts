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
    "secret clientSecret apiKey api_key x-api-key nkeySeed seed cookie set-cookie privateJwk credentials";
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
  ];
  for (const text of shapes) {
    const clean = redactText(text);
    assert.ok(clean.includes("[redacted]"), text);
    for (const secret of [CANARY, "Y2FuYXJ5", "A2A2A2", "eyJzdWIi", "a1a1a1"]) {
      assert.ok(!clean.includes(secret), clean);
    }
  }
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
  ];
  for (const piece of hostile) {
    const text = piece.repeat(200_000 / piece.length);
    const startedAt = performance.now();
    redactText(text);
    // Quadratic time takes many seconds; linear time takes milliseconds on an idle machine.
    assert.ok(performance.now() - startedAt < 2_000, piece);
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
