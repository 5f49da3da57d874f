import assert from "node:assert/strict";
import { chmod, chown, readFile, stat, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { collectingTerminal } from "../../test-fixtures/collecting-terminal.ts";
import { tempDirectory } from "../../test-fixtures/temp-directory.ts";
import { HOME } from "../locations.ts";
import { init } from "./keys.ts";
import { rotate } from "./keys-rotate.ts";

test("a run-token file that holds no key is refused and stays as it is", async () => {
  const dir = tempDirectory();
  const { terminal } = collectingTerminal();
  const file = join(dir, "run-token.jwk");
  for (const text of ["{half", "{}", '{"keys":[]}', '{"keys":["text"]}', "null"]) {
    await writeFile(file, text);
    await assert.rejects(
      rotate(terminal, { dir }),
      { name: "CliError", message: /run-token/ },
      text,
    );
    assert.equal(await readFile(file, "utf8"), text);
  }
});

test("a new client leaves auth.conf and the directory to the server that reads them", async () => {
  const dir = tempDirectory();
  const { terminal } = collectingTerminal();
  await init(terminal, { dir });
  const file = join(dir, "auth.conf");
  await chmod(dir, 0o711);
  await chmod(file, 0o640);
  // Only root may give a file away.
  const owner = process.getuid?.() === 0 ? 10_001 : (await stat(file)).uid;
  await chown(file, owner, (await stat(file)).gid);
  await init(terminal, { dir, client: ["team-a"] });
  const after = await stat(file);
  assert.match(await readFile(file, "utf8"), /team-a/);
  assert.deepEqual([after.uid, after.mode & 0o777], [owner, 0o640]);
  assert.equal((await stat(dir)).mode & 0o777, 0o711);
  assert.equal((await stat(join(dir, "team-a.nk"))).mode & 0o777, 0o600);
});

test("a manifest adds a team on Kubernetes: its namespace, its seed there alone, the way to NATS", async () => {
  const dir = tempDirectory();
  const file = join(tempDirectory(), "team-b.json");
  const { terminal } = collectingTerminal();
  await init(terminal, { dir, client: ["team-a"] });
  await init(terminal, { dir, client: ["team-b"], manifest: file, namespace: "yard" });
  assert.equal((await stat(file)).mode & 0o777, 0o600);
  const objects: readonly ManifestObject[] = JSON.parse(await readFile(file, "utf8")).items;
  assert.deepEqual(
    objects.map(({ kind, metadata }) => [kind, metadata.namespace, metadata.name]),
    [
      ["Secret", "yard", "yard-keys"],
      ["Namespace", undefined, "team-b"],
      ["Secret", "team-b", "switchyard-nats"],
      ["NetworkPolicy", "yard", "nats-from-team-b"],
    ],
  );
  const [keys = {}, , seed = {}] = objects.map(({ data }) => data);
  const clear = (text = "") => Buffer.from(text, "base64").toString();
  assert.equal(clear(seed["team-b.nk"]), await readFile(join(dir, "team-b.nk"), "utf8"));
  assert.deepEqual(
    Object.keys(keys).filter((name) => name.startsWith("team-")),
    ["team-a.pub", "team-b.pub"],
  );
  assert.match(clear(keys["auth.conf"]), /team-b/);
  assert.match(clear(keys["broker.nk"]), /^SU/);
  await unlink(join(dir, "team-b.nk"));
  for (const wrong of [
    { client: ["team-b"], manifest: file },
    { manifest: file },
    { client: ["team-a"], manifest: join(dir, "team.json") },
  ])
    await assert.rejects(init(terminal, { dir, ...wrong }), { name: "CliError", code: "usage" });
});

interface ManifestObject {
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly data?: Record<string, string>;
}

test("a public key of a service that is none is refused before the server's list is written", async () => {
  const dir = tempDirectory();
  const { terminal } = collectingTerminal();
  await init(terminal, { dir });
  const list = await readFile(join(dir, "auth.conf"), "utf8");
  await writeFile(join(dir, "broker.pub"), 'UBAD" } { user: x');
  await assert.rejects(init(terminal, { dir }), { message: /broker\.pub holds no public NKey/ });
  assert.equal(await readFile(join(dir, "auth.conf"), "utf8"), list);
});

test("the scheduler may receive only what triggers name, and clients without credentials may publish it", async () => {
  const dir = tempDirectory();
  const { terminal } = collectingTerminal();
  const triggers = join(HOME, "examples/triggers/triggers.yaml");
  await init(terminal, { dir, anonymous: true, triggers });
  const conf = await readFile(join(dir, "auth.conf"), "utf8");
  const blocks = conf.split("    # ");
  const of = (name: string) => blocks.find((block) => block.startsWith(`${name}:`)) ?? "";
  assert.match(of("scheduler"), /"shop\.orders\.\*\.paid scheduler"/);
  assert.match(
    of("scheduler"),
    /CONSUMER\.CREATE\.YARD_EVENTS\.yard-job-[0-9a-f]{16}\.yard\.evt\.run/,
  );
  assert.match(of("me"), /publish: \{ allow: \[[^\]]*"shop\.orders\.\*\.paid"/);
  assert.ok(blocks.every((block) => !block.startsWith("cli:") || !block.includes("shop.")));
  await init(terminal, { dir, anonymous: true });
  assert.doesNotMatch(await readFile(join(dir, "auth.conf"), "utf8"), /shop\.orders/);
  await writeFile(join(dir, "bad.yaml"), "version: 2\ntriggers: []\n");
  await assert.rejects(init(terminal, { dir, triggers: join(dir, "bad.yaml") }), {
    name: "CliError",
    message: /^bad\.yaml:1:1: version /,
  });
});
