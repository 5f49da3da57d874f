import assert from "node:assert/strict";
import { test } from "node:test";

import { containerArguments } from "./docker-server.ts";

const base = { dataDir: "/data dir/yard", container: "yard-x-1", user: ["--user", "1000:1000"] };

test("a NATS container is published on loopback alone and keeps its data outside", () => {
  const args = containerArguments({ ...base, kind: "nats", image: "nats:2.15-alpine" });
  assert.equal(
    args.join("|"),
    "run|--rm|--pull|never|--name|yard-x-1|--label|switchyard.data-dir=/data dir/yard|--user|1000:1000|" +
      '--mount|type=bind,"source=/data dir/yard",target=/data|' +
      "--publish|127.0.0.1::4222|--publish|127.0.0.1::8222|nats:2.15-alpine|-c|/data/nats.container.conf",
  );
});

test("a Redis container has a fixed port when asked and the settings of a local Redis", () => {
  const args = containerArguments({
    ...base,
    kind: "redis",
    image: "redis:7-alpine",
    port: 7001,
  });
  assert.deepEqual(args.slice(args.indexOf("--publish"), args.indexOf("redis:7-alpine")), [
    "--publish",
    "127.0.0.1:7001:6379",
  ]);
  const command = args.slice(args.indexOf("redis:7-alpine") + 1).join(" ");
  assert.match(command, /--appendonly yes --appendfsync always --maxmemory-policy noeviction/);
  assert.match(command, /--bind 0\.0\.0\.0 --port 6379 --protected-mode no --dir \/data/);
});

test("a Redis container reads its access list from the data directory, and no password is on its command line", () => {
  const access = { acl: "user default off", probeUser: "monitor", probePassword: "probe-secret" };
  const args = containerArguments({ ...base, kind: "redis", image: "i", access });
  assert.equal(args[args.indexOf("--aclfile") + 1], "/data/users.acl");
  assert.ok(!args.join(" ").includes("probe-secret"));
});

test("the data directory may have any name", () => {
  const args = containerArguments({
    ...base,
    kind: "redis",
    image: "i",
    dataDir: '/a:b, c="d"',
  });
  assert.equal(args[args.indexOf("--mount") + 1], 'type=bind,"source=/a:b, c=""d""",target=/data');
});

test("every published port names loopback, whatever the port", () => {
  for (const kind of ["nats", "redis"] as const) {
    for (const port of [0, 1, 65_535]) {
      const args = containerArguments({ ...base, kind, image: "i", port });
      const published = args.filter((_, index) => args[index - 1] === "--publish");
      assert.ok(published.length > 0);
      assert.ok(published.every((value) => value.startsWith("127.0.0.1:")));
    }
  }
});
