import assert from "node:assert/strict";
import { test } from "node:test";
import { takeEnvironment } from "./take-environment.ts";

test("secrets are removed from the environment, and the variables for running programs stay", () => {
  const env: NodeJS.ProcessEnv = {
    PATH: "/usr/bin",
    NODE_EXTRA_CA_CERTS: "/ca.pem",
    OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector",
    YARD_REDIS_URL: "redis://broker:canary@redis",
    GITHUB_TOKEN: "canary",
    AWS_REGION: "eu-central-1",
    AWS_ACCESS_KEY_ID: "canary",
    AWS_SECRET_ACCESS_KEY: "canary",
    AWS_SESSION_TOKEN: "canary",
    AWS_CONTAINER_AUTHORIZATION_TOKEN: "canary",
  };
  const before = { ...env };
  assert.deepEqual(takeEnvironment(env), before);
  assert.deepEqual(Object.keys(env), [
    "PATH",
    "NODE_EXTRA_CA_CERTS",
    "OTEL_EXPORTER_OTLP_ENDPOINT",
    "AWS_REGION",
  ]);
});
