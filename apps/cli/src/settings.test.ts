import assert from "node:assert/strict";
import { mkdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { tempDirectory } from "../test-fixtures/temp-directory.ts";
import {
  changeSetting,
  contexts,
  currentContext,
  namedGateway,
  projectConfigFile,
  saveContext,
  setting,
  userConfigFile,
} from "./settings.ts";

function home(): { env: NodeJS.ProcessEnv; directory: string } {
  const directory = tempDirectory();
  return { env: { HOME: directory, XDG_CONFIG_HOME: join(directory, "config") }, directory };
}

test("the environment goes before the project, that before the user, that before the default", () => {
  const { env, directory } = home();
  assert.deepEqual(setting("color", env), { value: "auto", origin: "default" });
  const file = userConfigFile(env);
  changeSetting(file, "agent", "mine");
  assert.equal(statSync(file).mode & 0o777, 0o600);
  assert.deepEqual(setting("agent", env), { value: "mine", origin: file });
  const project = join(directory, "work", ".switchyard");
  mkdirSync(project, { recursive: true });
  writeFileSync(join(project, "config.json"), '{"agent":"ours","context":"theirs"}');
  const inside = { ...env, YARD_PROJECT: join(directory, "work") };
  assert.equal(setting("agent", inside).value, "ours");
  assert.equal(setting("context", inside).value, null, "a checkout chooses no installation");
  assert.deepEqual(setting("context", { ...inside, YARD_CONTEXT: "now" }), {
    value: "now",
    origin: "YARD_CONTEXT",
  });
});

test("a project is found upwards, and a home directory is none [D43, X33]", () => {
  const { env, directory } = home();
  mkdirSync(join(directory, ".switchyard"));
  mkdirSync(join(directory, "a", "b"), { recursive: true });
  assert.equal(projectConfigFile(env, join(directory, "a", "b")), null);
  mkdirSync(join(directory, "a", ".switchyard"));
  const file = join(directory, "a", ".switchyard", "config.json");
  assert.equal(projectConfigFile(env, join(directory, "a", "b")), file);
});

test("a context is remembered, chosen and forgotten; one that there is not is said", () => {
  const { env } = home();
  const work = { nats: "nats://nats.example.com:4222", user: "team-a", nkeyFile: null };
  saveContext(env, "work", work);
  assert.equal(currentContext(env), null);
  changeSetting(userConfigFile(env), "context", "work");
  assert.deepEqual(currentContext(env), { name: "work", context: work });
  assert.equal(currentContext({ ...env, YARD_CONTEXT: "local" }), null);
  assert.throws(() => currentContext({ ...env, YARD_CONTEXT: "gone" }), /there is no context gone/);
  const gateway = { ...env, YARD_CONTEXT: "https://switchyard.example.com" };
  assert.equal(currentContext(gateway), null, "the address of a gateway overrides a context");
  assert.equal(namedGateway(gateway), "https://switchyard.example.com");
  assert.equal(namedGateway({ ...env, YARD_CONTEXT: "work" }), null);
  saveContext(env, "work", null);
  assert.deepEqual(contexts(env), {});
});

test("a file that is not JSON is named", () => {
  const { env } = home();
  const file = userConfigFile(env);
  changeSetting(file, "agent", "mine");
  writeFileSync(file, "{");
  assert.throws(() => setting("agent", env), { code: "usage", message: new RegExp(file) });
});
