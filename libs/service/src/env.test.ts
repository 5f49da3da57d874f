import assert from "node:assert/strict";
import { test } from "node:test";
import { z } from "zod";
import {
  EnvError,
  envFlag,
  envInteger,
  envListen,
  natsEnv,
  processEnv,
  readEnv,
  redisEnv,
  type EnvProblem,
} from "./env.ts";
import { REMOVED_SETTINGS } from "./removed-settings.ts";

const schema = z.object({ ...processEnv, ...natsEnv, ...redisEnv });
const required = {
  YARD_NATS_URL: "nats://127.0.0.1:4222",
  YARD_REDIS_URL: "redis://127.0.0.1:6379",
};

test("fills in the defaults of what is not set", () => {
  const config = readEnv(schema, required);
  assert.equal(config.YARD_LOG_LEVEL, "info");
  assert.deepEqual(config.YARD_HEALTH_PORT, { host: "127.0.0.1", port: 0 });
  assert.equal(config.YARD_DRAIN_MS, 25_000);
  assert.equal(config.YARD_RESTARTS, false);
  assert.equal(config.YARD_NATS_NKEY_FILE, undefined);
});

test("names every missing and bad variable at once, with its rule", () => {
  const problems = problemsOf(schema, {
    YARD_LOG_LEVEL: "loud",
    YARD_HEALTH_PORT: "65536",
    YARD_DRAIN_MS: "soon",
    YARD_RESTARTS: "yes",
    YARD_REDIS_URL: "http://127.0.0.1:6379",
  });
  assert.deepEqual(
    problems.map((problem) => problem.name),
    [
      "YARD_LOG_LEVEL",
      "YARD_HEALTH_PORT",
      "YARD_DRAIN_MS",
      "YARD_RESTARTS",
      "YARD_NATS_URL",
      "YARD_REDIS_URL",
    ],
  );
  assert.deepEqual(problems[1], {
    name: "YARD_HEALTH_PORT",
    rule: "must be a port from 0 to 65535, or an address and a port such as 0.0.0.0:8080",
    value: "65536",
  });
  assert.deepEqual(problems[4], { name: "YARD_NATS_URL", rule: "is required", value: null });
});

test("reads where to listen as a port of loopback or as an address with its port", () => {
  const listen = z.object({ PORT: envListen() });
  for (const [text, host, port] of [
    ["8080", "127.0.0.1", 8080],
    ["0.0.0.0:8080", "0.0.0.0", 8080],
    ["localhost:0", "localhost", 0],
    ["[::1]:65535", "::1", 65_535],
  ] as const)
    assert.deepEqual(readEnv(listen, { PORT: text }).PORT, { host, port }, text);
  for (const text of ["http", "::1:80", "0.0.0.0:", "0.0.0.0", "a b:80", "host:65536", "-1"])
    assert.throws(() => readEnv(listen, { PORT: text }), /PORT must be a port/, text);
});

test("puts every problem into the one line of the message", () => {
  assert.throws(() => readEnv(schema, { YARD_LOG_LEVEL: "loud" }), {
    name: "EnvError",
    message:
      "invalid environment: YARD_LOG_LEVEL must be trace, debug, info, warn, error, fatal or silent" +
      ' (got "loud"); YARD_NATS_URL is required; YARD_REDIS_URL is required',
    exitCode: 1,
  });
});

test("takes an empty variable for an unset one", () => {
  const config = readEnv(schema, { ...required, YARD_LOG_LEVEL: "", YARD_NATS_NKEY_FILE: "" });
  assert.equal(config.YARD_LOG_LEVEL, "info");
  assert.equal(config.YARD_NATS_NKEY_FILE, undefined);
  assert.deepEqual(problemsOf(schema, { ...required, YARD_NATS_URL: "" }), [
    { name: "YARD_NATS_URL", rule: "is required", value: null },
  ]);
});

test("never shows the value of a variable whose name marks it as secret", () => {
  const rule = z.string().refine((value) => value === "", {
    error: (issue) => `must not be ${String(issue.input)}`,
  });
  const names = ["MODEL_API_KEY", "CLIENT_SECRET", "A_TOKEN_B", "password", "NKEY_SEED"];
  for (const name of names) {
    const [problem] = problemsOf(z.object({ [name]: rule }), { [name]: "canary-4711" });
    assert.deepEqual(problem, { name, rule: "must not be [redacted]", value: null });
  }
});

test("shows the path that a secret file variable names, which is not a secret", () => {
  const shape = { YARD_KEY_FILE: z.string().startsWith("/", "must be an absolute path") };
  assert.deepEqual(problemsOf(z.object(shape), { YARD_KEY_FILE: "keys/a.nk" }), [
    { name: "YARD_KEY_FILE", rule: "must be an absolute path", value: "keys/a.nk" },
  ]);
});

test("hides a password inside a URL that is refused", () => {
  const [problem] = problemsOf(schema, {
    ...required,
    YARD_REDIS_URL: "https://admin:canary-4711@redis:6379",
  });
  assert.equal(problem?.value, "https://[redacted]@redis:6379");
});

test("accepts several NATS servers and refuses the list when one of them is not a URL", () => {
  const two = "nats://10.0.0.1:4222,tls://10.0.0.2:4222";
  assert.equal(readEnv(schema, { ...required, YARD_NATS_URL: two }).YARD_NATS_URL, two);
  assert.equal(problemsOf(schema, { ...required, YARD_NATS_URL: `${two},10.0.0.3` }).length, 1);
});

test("refuses a Redis URL whose database or credentials cannot be read", () => {
  for (const url of [
    "redis://h/cache",
    "redis://u:100%@h",
    "redis:///0",
    "h:6379",
    "redis://a:1,b:2",
    "redis+sentinel://a:1",
  ]) {
    assert.equal(problemsOf(schema, { ...required, YARD_REDIS_URL: url }).length, 1, url);
  }
  for (const url of [
    "redis://h/3",
    "rediss://u:100%25@h:1/",
    "redis://[::1]:6379",
    "redis+sentinel://a:1,b/main/2",
  ]) {
    assert.equal(readEnv(schema, { ...required, YARD_REDIS_URL: url }).YARD_REDIS_URL, url);
  }
});

test("a removed setting that is still set is a problem that names its replacement, and an empty one is none", () => {
  const shape = z.object({ N: envInteger(-1, 10) });
  assert.deepEqual(problemsOf(shape, { YARD_COLOR: "never", N: "a" }), [
    {
      name: "YARD_COLOR",
      rule: "was removed: use NO_COLOR or FORCE_COLOR, or yard config set color",
      value: null,
    },
    { name: "N", rule: "must be a whole number from -1 to 10", value: "a" },
  ]);
  assert.deepEqual(problemsOf(shape, { YARD_COLOR: "", N: "1" }), []);
  for (const [name, replacement] of Object.entries(REMOVED_SETTINGS))
    assert.deepEqual(problemsOf(shape, { [name]: "1", N: "1" }), [
      { name, rule: `was removed: ${replacement}`, value: null },
    ]);
});

test("reads whole numbers within their bounds and nothing else", () => {
  const shape = z.object({ N: envInteger(-1, 10) });
  assert.equal(readEnv(shape, { N: "-1" }).N, -1);
  assert.equal(readEnv(shape, { N: "10" }).N, 10);
  for (const bad of ["-2", "11", "1.5", "1e1", "0x1", " 1", "1ms", "NaN", "9".repeat(400)]) {
    assert.equal(problemsOf(shape, { N: bad }).length, 1, bad);
  }
});

test("reads flags from 1, 0, true and false only", () => {
  const shape = z.object({ F: envFlag() });
  assert.equal(readEnv(shape, { F: "1" }).F, true);
  assert.equal(readEnv(shape, { F: "true" }).F, true);
  assert.equal(readEnv(shape, { F: "0" }).F, false);
  assert.equal(readEnv(shape, { F: "false" }).F, false);
  assert.equal(problemsOf(shape, { F: "on" }).length, 1);
});

function problemsOf(shape: z.ZodObject, env: NodeJS.ProcessEnv): readonly EnvProblem[] {
  try {
    readEnv(shape, env);
  } catch (error) {
    assert.ok(error instanceof EnvError);
    return error.problems;
  }
  return [];
}
