import assert from "node:assert/strict";
import { test } from "node:test";
import { hiddenPaths } from "./hidden-paths.ts";
import { ModelsConfig } from "./models-file.ts";

test("a CLI in a sandbox sees no key of a model, none of the service, and none beside it", () => {
  const { providers } = ModelsConfig.parse({
    providers: { a: { type: "openai", apiKeyFile: "/run/secrets/openai" } },
  });
  const hidden = hiddenPaths(
    { providers },
    {
      YARD_NATS_NKEY_FILE: "/srv/yard/keys/runner.nk",
      YARD_REDIS_PASSWORD_FILE: "/etc/redis-password",
      YARD_MODELS_FILE: "/project/models.json",
      YARD_TEAM_LIMITS_FILE: "",
      OTHER_FILE: "/not/ours",
    },
    "/home/me",
  );
  for (const path of [
    "/run/secrets/openai",
    "/srv/yard/keys",
    "/etc/redis-password",
    "/project/models.json",
    "/home/me/.ssh",
    "/run/docker.sock",
  ])
    assert.ok(hidden.includes(path), path);
  for (const path of ["", "/etc", "/project", "/not/ours"]) assert.ok(!hidden.includes(path), path);
});
