import assert from "node:assert/strict";
import { test } from "node:test";
import { readEnv } from "@switchyard/service/env";
import { commandPath, toolboxEnv } from "./config.ts";

test("commands have the absolute directories of the toolbox's PATH, then those of the system", () => {
  const pathOf = (path: string) =>
    commandPath(
      readEnv(toolboxEnv, {
        PATH: path,
        YARD_NATS_URL: "nats://127.0.0.1:4222",
        YARD_REDIS_URL: "redis://127.0.0.1:6379",
      }),
    );
  assert.equal(pathOf(""), "/usr/local/bin:/usr/bin:/bin");
  assert.equal(pathOf("/opt/node/bin::.:bin"), "/opt/node/bin:/usr/local/bin:/usr/bin:/bin");
});
