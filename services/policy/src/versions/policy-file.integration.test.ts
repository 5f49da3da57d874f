import assert from "node:assert/strict";
import { EventEmitter, on } from "node:events";
import { appendFile, mkdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { testDirectory } from "@switchyard/testing/test-servers";
import { StartError } from "@switchyard/service/start-error";
import { bundleName, PolicyFile } from "./policy-file.ts";

const ALLOW = "version: 1\nrules:\n  - { id: all, effect: allow, approval: auto }\n";
const DENY = "version: 1\nrules:\n  - { id: none, effect: deny }\n";
const BROKEN = "version: 1\nrules:\n  - { id: all, efect: allow }\n";

const TESTS = "tests:\n  - { name: x is for all, given: { tool: x }, expect: allow }\n";

type News =
  | { readonly kind: "activated"; readonly digest: string }
  | { readonly kind: "refused"; readonly lines: readonly string[]; readonly inForce: string };

/** Opens a file, and returns its events one by one. */
async function openFile(path: string) {
  const news = new EventEmitter();
  const stream = on(news, "news");
  const file = await PolicyFile.open({
    path,
    onActivated: ({ bundle: { digest } }) => news.emit("news", { kind: "activated", digest }),
    onRefused: (lines, { digest }) =>
      news.emit("news", { kind: "refused", lines, inForce: digest }),
    onWatchLost: (error) => news.emit("error", error),
  });
  after(() => file.stop());
  const next = async (): Promise<News> => {
    const { value } = (await stream.next()) as IteratorYieldResult<[News]>; // the emitter never ends
    return value[0];
  };
  assert.deepEqual(await next(), { kind: "activated", digest: file.current.digest });
  return { file, next };
}

async function policyAt(text: string): Promise<string> {
  const path = join(await testDirectory(), "policy.yaml");
  await writeFile(path, text);
  return path;
}

/** The rename is atomic, so no half-written file can be read. */
async function replace(path: string, content: string | Uint8Array): Promise<void> {
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

test("an edit comes into force, both by writing and by renaming over the file", async () => {
  const path = await policyAt(ALLOW);
  const { file, next } = await openFile(path);
  const before = file.current.digest;

  await writeFile(path, DENY);
  assert.equal((await next()).kind, "activated");
  assert.notEqual(file.current.digest, before);

  await replace(path, ALLOW);
  assert.deepEqual(await next(), { kind: "activated", digest: before });
});

test("a bad edit is refused with its position and the last good policy stays", async () => {
  const path = await policyAt(ALLOW);
  const { file, next } = await openFile(path);
  const good = file.current;

  await replace(path, BROKEN);
  const refused = await next();
  assert.deepEqual(refused, {
    kind: "refused",
    lines: [
      `${path}:3:5: rules[0].effect is missing`,
      `${path}:3:16: unknown key "efect" in rules[0]; did you mean "effect"?`,
    ],
    inForce: good.digest,
  });
  assert.equal(file.current, good);

  await replace(path, ALLOW);
  assert.deepEqual(await next(), { kind: "activated", digest: good.digest });
});

test("a policy that is removed, or is not text, stays in force as it was", async () => {
  const path = await policyAt(ALLOW);
  const { file, next } = await openFile(path);
  const good = file.current;

  await rm(path);
  const removed = await next();
  assert.ok(removed.kind === "refused");
  assert.deepEqual(removed.lines, [`${path}: cannot be read (ENOENT)`]);

  await replace(path, Buffer.from([0x76, 0xff, 0xfe]));
  const binary = await next();
  assert.ok(binary.kind === "refused");
  assert.deepEqual(binary.lines, [`${path}: is not valid UTF-8`]);
  assert.equal(file.current, good);
});

test("a file that is still being written is not taken by its first half", async () => {
  const path = await policyAt(DENY);
  const { file, next } = await openFile(path);
  await writeFile(path, ALLOW);
  await appendFile(path, "  - { id: no-writes, effect: deny, what: { tools: [files.write_*] } }\n");
  assert.equal((await next()).kind, "activated");
  assert.equal(file.current.ruleCount, 2);
});

test("a change behind links, as Kubernetes mounts files, comes into force", async () => {
  const mount = await testDirectory();
  await mkdir(join(mount, "v1"));
  await mkdir(join(mount, "v2"));
  await writeFile(join(mount, "v1", "policy.yaml"), ALLOW);
  await writeFile(join(mount, "v2", "policy.yaml"), DENY);
  await symlink("v1", join(mount, "..data"));
  await symlink("..data/policy.yaml", join(mount, "policy.yaml"));
  const { file, next } = await openFile(join(mount, "policy.yaml"));
  const before = file.current.digest;

  await symlink("v2", join(mount, "..new"));
  await rename(join(mount, "..new"), join(mount, "..data"));
  assert.equal((await next()).kind, "activated");
  assert.notEqual(file.current.digest, before);
});

test("a change that sends no notice is seen at the next interval", async () => {
  const elsewhere = await policyAt(ALLOW);
  const link = join(await testDirectory(), "policy.yaml");
  await symlink(elsewhere, link);
  const { next } = await openFile(link);
  await replace(elsewhere, DENY);
  assert.equal((await next()).kind, "activated");
});

test("a policy comes into force only when the tests beside it pass", async () => {
  const path = await policyAt(ALLOW);
  const testsPath = join(dirname(path), "policy.test.yaml");
  await writeFile(testsPath, TESTS);
  const { file, next } = await openFile(path);
  const good = file.current;

  await replace(path, DENY);
  assert.deepEqual(await next(), {
    kind: "refused",
    lines: [
      `${testsPath}:2: test "x is for all": expected allow, got deny by none: rule none denies x`,
    ],
    inForce: good.digest,
  });
  assert.equal(file.current, good);

  await replace(testsPath, TESTS.replace("expect: allow", "expect: deny"));
  assert.equal((await next()).kind, "activated");
  assert.notEqual(file.current.digest, good.digest);
});

test("tests that cannot be read keep a policy from coming into force", async () => {
  const path = await policyAt(ALLOW);
  const testsPath = join(dirname(path), "policy.test.yaml");
  const { file, next } = await openFile(path);
  const good = file.current;

  await replace(testsPath, TESTS.replace("expect:", "expects:"));
  const misspelt = await next();
  assert.ok(misspelt.kind === "refused");
  assert.match(misspelt.lines.join("\n"), /policy\.test\.yaml:2:\d+: unknown key "expects"/);

  await rm(testsPath);
  assert.deepEqual(await next(), { kind: "activated", digest: good.digest });
  await mkdir(testsPath);
  const directory = await next();
  assert.ok(directory.kind === "refused");
  assert.deepEqual(directory.lines, [`${testsPath}: is not a regular file`]);
});

test("a policy whose tests fail cannot be opened", async () => {
  const path = await policyAt(DENY);
  await writeFile(join(dirname(path), "policy.test.yaml"), TESTS);
  const opening = PolicyFile.open({
    path,
    onActivated: () => assert.fail("activated"),
    onRefused: () => assert.fail("refused"),
    onWatchLost: () => assert.fail("watched"),
  });
  await assert.rejects(opening, (error) => {
    assert.ok(error instanceof StartError);
    assert.match(error.message, /policy\.test\.yaml:2: test "x is for all": expected allow/);
    return true;
  });
});

test("a policy that is missing, broken or a directory cannot be opened", async () => {
  const directory = await testDirectory();
  const broken = await policyAt(BROKEN);
  for (const [path, message] of [
    [join(directory, "none.yaml"), /none\.yaml: cannot be read \(ENOENT\)$/],
    [broken, /policy\.yaml:3:16: unknown key "efect"/],
    [directory, /: has no .yaml file with rules$/],
  ] as const) {
    const opening = PolicyFile.open({
      path,
      onActivated: () => assert.fail("activated"),
      onRefused: () => assert.fail("refused"),
      onWatchLost: () => assert.fail("watched"),
    });
    await assert.rejects(opening, (error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, message);
      return true;
    });
  }
});

test("a bundle is named after its file, as one token of a subject", () => {
  assert.equal(bundleName("/etc/yard/demo.yaml"), "demo");
  assert.equal(bundleName("my policy.v2.yaml"), "my-policy-v2");
  assert.equal(bundleName("/x/.yaml"), "policy");
});

test("a list beside the rules comes into force like them, and a broken one leaves the policy as it was", async () => {
  const path = await policyAt(
    "version: 1\nrules:\n  - { id: none, effect: deny, when: [{ arg: /to, op: inFile, value: blocked.txt }] }\n",
  );
  const list = join(dirname(path), "blocked.txt");
  await assert.rejects(openFile(path), {
    message: `YARD_POLICY_FILE: policy refused\n${path}:3:38: there is no list blocked.txt beside the rules`,
  });
  await writeFile(list, "DE1\n");
  const { file, next } = await openFile(path);
  const first = file.current.digest;
  assert.deepEqual(
    file.texts.files.map(({ name }) => name),
    ["policy.yaml", "blocked.txt"],
  );

  await replace(list, "DE1\nDE2\n");
  const second = await next();
  assert.deepEqual(second, { kind: "activated", digest: file.current.digest });
  assert.notEqual(file.current.digest, first);

  await replace(list, "# nothing\n");
  const refused = await next();
  assert.ok(refused.kind === "refused");
  assert.deepEqual(refused.lines, [`${list}:1:1: the list has no entry`]);
  assert.deepEqual(second, { kind: "activated", digest: file.current.digest });

  await rm(list);
  const missing = await next();
  assert.ok(missing.kind === "refused");
  assert.deepEqual(missing.lines, [`${path}:3:38: there is no list blocked.txt beside the rules`]);

  await replace(list, "DE1\n");
  assert.deepEqual(await next(), { kind: "activated", digest: first });
});
