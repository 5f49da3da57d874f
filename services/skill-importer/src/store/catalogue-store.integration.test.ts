import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createLog } from "@switchyard/service/log";
import type { Holding } from "@switchyard/service/owner-storage";
import { connectRedis } from "@switchyard/service/redis";
import { testRedis } from "@switchyard/testing/test-servers";
import type { CatalogueChange } from "@switchyard/skills/catalogue/catalogue";
import { CatalogueStore } from "./catalogue-store.ts";
import type { Definition, EntryOf, StoredSkill } from "@switchyard/skills/catalogue/definition";
import { VersionStore, versionBytes } from "./version-store.ts";

const server = await testRedis();
const log = createLog({ service: "test", level: "silent" });
const redis = await connectRedis({ url: server.url, name: "test", log });
after(() => redis.disconnect());
const corrupt: string[] = [];
const store = new CatalogueStore(redis, (key) => corrupt.push(key));

const DIGEST = `sha256:${"0".repeat(64)}`;
const versions = new VersionStore(redis, () => new Date(), { set: () => {} });
const PROVENANCE = {
  source: "root",
  label: "/r",
  by: "x",
  at: "2026-01-01T00:00:00.000Z",
  git: null,
} as const;

function storedSkill(name: string, body: string, digest = DIGEST): StoredSkill {
  const skill = {
    name,
    description: "d\uD800", // half a character, as a YAML escape can make one
    digest,
    path: "p",
    userInvocable: true,
    modelInvocable: true,
    allowedTools: null,
    argumentHint: null,
    diagnostics: [],
    body,
    arguments: [],
    plan: null,
  };
  return { skill, directory: "/d", metadata: null };
}

function setting(...entries: EntryOf<"skill">[]): CatalogueChange {
  return { listed: { skill: { set: entries, remove: [] } } };
}

function entryOf({ skill }: StoredSkill): EntryOf<"skill"> {
  const { body: _body, arguments: _arguments, plan: _plan, ...summary } = skill;
  return { root: "/r", file: "p/SKILL.md", summary };
}

function definitionOf(stored: StoredSkill): Definition {
  const { name, digest, version = digest } = stored.skill;
  const content = { files: new Map(), facts: [], report: null };
  return { kind: "skill", name, version, entry: entryOf(stored), stored, ...content };
}

test("commits only on the revision that the change was planned against", async () => {
  await redis.flushdb();
  const { revision } = await store.load();
  const one = entryOf(storedSkill("one", "x"));
  const two = entryOf(storedSkill("two", "x"));
  assert.equal(await store.commit({ revision }, setting(one), []), true);
  assert.equal(await store.commit({ revision }, setting(two), []), false);
  assert.deepEqual(await store.list("skill"), [one]);
  const next = await store.load();
  assert.notEqual(next.revision, revision);
  assert.deepEqual(next.skill.listed, [one]);
  assert.equal(await store.commit(next, setting(two), []), true);
  assert.deepEqual(await store.list("skill"), [one, two]);
});

test("lets exactly one of many concurrent commits succeed", async () => {
  await redis.flushdb();
  const { revision } = await store.load();
  const entries = Array.from({ length: 20 }, (_, index) => entryOf(storedSkill(`s${index}`, "x")));
  const results = await Promise.all(
    entries.map((entry) => store.commit({ revision }, setting(entry), [])),
  );
  assert.equal(results.filter(Boolean).length, 1);
  assert.equal((await store.list("skill")).length, 1);
});

test("writes nothing when there is nothing to write", async () => {
  await redis.flushdb();
  assert.equal(await store.commit({ revision: "7" }, setting(), []), true);
  assert.deepEqual(await redis.keys("*"), []);
});

test("keeps a version readable after another replaced it, and expires it later", async () => {
  await redis.flushdb();
  const old = storedSkill("s", "old");
  const current = storedSkill("s", "new", `sha256:${"1".repeat(64)}`);
  await versions.save(definitionOf(old), PROVENANCE);
  await versions.save(definitionOf(current), PROVENANCE);
  await store.commit({ revision: "0" }, setting(entryOf(current)), []);
  const { digest } = old.skill;
  const superseded = { kind: "superseded", what: "skill", name: "s", version: digest } as const;
  await versions.retire({ ...superseded, digest, wasUsable: true });
  assert.equal((await store.read("skill", "s", undefined))?.skill.body, "new");
  assert.equal((await store.read("skill", "s", old.skill.digest))?.skill.body, "old");
  const key = `yard:skill:{s}:${old.skill.digest}`;
  const days = (await redis.ttl(key)) / 86_400;
  assert(days > 30 && days <= 45, String(days));
  await versions.save(definitionOf(old), PROVENANCE);
  assert.equal(await redis.ttl(key), -1, "a version that comes back stays");
});

test("leaves out stored values that cannot be read, and reports them [B17]", async () => {
  await redis.flushdb();
  corrupt.length = 0;
  await store.commit({ revision: "0" }, setting(entryOf(storedSkill("good", "x"))), []);
  await redis.hset("yard:{catalogue}:skills", "bad", "{not json", "worse", '{"root":1}');
  await redis.set(`yard:skill:{good}:${DIGEST}`, "{}");
  assert.deepEqual(
    (await store.list("skill")).map(({ summary }) => summary.name),
    ["good"],
  );
  assert.equal(await store.read("skill", "good", undefined), null);
  assert.equal(await store.read("skill", "bad", undefined), null);
  assert.deepEqual(
    new Set(corrupt),
    new Set([
      "yard:{catalogue}:skills bad",
      "yard:{catalogue}:skills worse",
      `yard:skill:{good}:${DIGEST}`,
    ]),
  );
});

test("publishes announcements in order, and one again that failed", async () => {
  await redis.flushdb();
  const announcements = ["1", "2"].map((id) => ({
    id,
    at: "2026-01-01T00:00:00.000Z",
    kind: "skill" as const,
    summary: entryOf(storedSkill(`s${id}`, "x")).summary,
  }));
  await store.commit({ revision: "0" }, { listed: {} }, announcements);
  const published: unknown[] = [];
  const publish = async (one: unknown) => {
    published.push(one);
    if (published.length === 2) throw new Error("the bus is away");
  };
  await assert.rejects(store.publishAnnouncements(publish), /the bus is away/);
  await store.publishAnnouncements(publish);
  const [first, second] = announcements;
  assert.deepEqual(published, [first, second, second]);
  await store.publishAnnouncements(() => assert.fail("nothing is left"));
});

test("writes a version again only where it is not there as it should be", async () => {
  await redis.flushdb();
  const versioned = (text: string): StoredSkill => {
    const stored = storedSkill("kept", text);
    return { ...stored, skill: { ...stored.skill, version: `sha256:${"1".repeat(64)}` } };
  };
  const writes = async (): Promise<number> =>
    Number(/cmdstat_set:calls=(\d+)/.exec(await redis.info("commandstats"))?.[1] ?? 0);
  await versions.save(definitionOf(versioned("x")), PROVENANCE);
  const before = await writes();
  await versions.refresh(definitionOf(versioned("x")));
  assert.equal(await writes(), before);
  await versions.refresh(definitionOf({ ...versioned("x"), directory: "/moved" }));
  assert.equal(await writes(), before + 1);
  const { version = "" } = versioned("x").skill;
  assert.equal((await store.read("skill", "kept", version))?.directory, "/moved");
  await redis.del(`yard:skill:{kept}:${version}`);
  await versions.refresh(definitionOf({ ...versioned("x"), directory: "/moved" }));
  assert.equal((await store.read("skill", "kept", version))?.directory, "/moved");
});

test("counts the versions that a client sent for that client until they are deleted, and none of the importer's directories", async () => {
  await redis.flushdb();
  const counted = new Map<string, Holding>();
  const set = (owner: string, thing: string, holding: Holding) =>
    void counted.set(`${owner} ${thing}`, holding);
  const counting = new VersionStore(redis, () => new Date(), { set });
  const { skill, ...rest } = storedSkill("s", "x".repeat(30_000));
  const definition = {
    ...definitionOf({ skill, ...rest }),
    files: new Map([["a.md", Buffer.alloc(20_000)]]),
  };
  await counting.save(definition, PROVENANCE);
  assert.equal(counted.size, 0);
  await redis.flushdb();
  await counting.save(definition, { ...PROVENANCE, source: "upload" });
  const thing = `skill/s/${DIGEST}`;
  const stored = counted.get(`x ${thing}`) ?? assert.fail("it is not counted");
  assert.ok(stored.bytes > 50_000 && stored.bytes < 60_000, String(stored.bytes));
  assert.ok(versionBytes(definition) > 50_000, "about the same is reserved before");
  assert.equal(stored.ends, null);
  assert.deepEqual(await counting.holding("x", thing), stored);
  assert.equal(await counting.holding("another", thing), null);
  const superseded = { kind: "superseded", what: "skill", name: "s", version: DIGEST } as const;
  await counting.retire({ ...superseded, digest: DIGEST, wasUsable: true });
  const ends = counted.get(`x ${thing}`)?.ends ?? 0;
  assert.ok(ends > Date.now() + 40 * 86_400_000, String(ends));
  await redis.del(`yard:skill:{s}:${DIGEST}`);
  assert.equal(await counting.holding("x", thing), null);
});

test("a name has 50 versions, and the oldest superseded ones are deleted with their texts", async () => {
  await redis.flushdb();
  const digestOf = (n: number) => `sha256:${String(n).padStart(64, "0")}`;
  for (let n = 0; n < 53; n += 1) {
    const one = storedSkill("many", `body ${n}`, digestOf(n));
    const at = new Date(Date.UTC(2026, 0, 1, 0, 0, n)).toISOString();
    await versions.save(definitionOf(one), { ...PROVENANCE, at });
    const superseded = { kind: "superseded", what: "skill", name: "many" } as const;
    const { digest } = one.skill;
    await versions.retire({ ...superseded, version: digest, digest, wasUsable: true });
  }
  assert.equal(await redis.hlen("yard:skill:{many}:versions"), 50);
  const left = [0, 2, 3, 52].map((n) => redis.exists(`yard:skill:{many}:${digestOf(n)}`));
  assert.deepEqual(await Promise.all(left), [0, 0, 1, 1]);
});
