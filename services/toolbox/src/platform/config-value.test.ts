import assert from "node:assert/strict";
import { test } from "node:test";
import { redacted } from "./config-value.ts";

test("values that are secret by their name or form are not shown, references are [F31]", () => {
  const shown = redacted({
    botToken: "${BOT_TOKEN}",
    appToken: "${APP_TOKEN:-xyz-in-a-default}",
    signingSecret: "abc",
    password: 1234,
    imap: { host: "mail.example", auth: { user: "me", pass: "abc" } },
    env: { ANYTHING: "abc" },
    list: ["sk-abcdefghijklmnop", "plain"],
    baseURL: "https://me:pw@models.example/v1",
    delivery: { to: "https://hooks.example/T0/B0/secret-path" },
    apiKeyEnv: "OPENAI_API_KEY",
    feed: "https://feeds.example/x?page=2&key=abc&access_token=d%20e#top",
  });
  assert.deepEqual(shown, {
    botToken: "${BOT_TOKEN}",
    appToken: "[redacted]",
    signingSecret: "[redacted]",
    password: "[redacted]",
    imap: { host: "mail.example", auth: { user: "[redacted]", pass: "[redacted]" } },
    env: { ANYTHING: "[redacted]" },
    list: ["[redacted]", "plain"],
    baseURL: "https://[redacted]@models.example/v1",
    delivery: { to: "https://hooks.example/[redacted]" },
    apiKeyEnv: "OPENAI_API_KEY",
    feed: "https://feeds.example/x?page=2&key=[redacted]&access_token=[redacted]#top",
  });
});
