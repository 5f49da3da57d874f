// The content of the images, examined from inside. It takes minutes and an engine, so it runs only on request:
//
//   YARD_TEST_DOCKER=1 npm run test:integration -- deploy/test/image
//
// Without a registry, name an image in NODE_IMAGE, or built ones in SWITCHYARD_IMAGE, SWITCHYARD_MCP_IMAGE and
// SWITCHYARD_RUNTIMES_IMAGE.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { docker, succeeded, whyNoComposition } from "./composition.ts";

const skip = whyNoComposition();

const built = new Set<string>();

after(() => {
  for (const tag of built) docker(["image", "rm", tag]);
});

/** Builds a target of the Dockerfile, unless `variable` names an image of it. */
function imageOf(target: string, variable: string): string {
  const named = process.env[variable];
  if (named !== undefined) return named;
  const node = process.env["NODE_IMAGE"];
  const base = node === undefined ? [] : ["--build-arg", `NODE_IMAGE=${node}`];
  const tag = `yard-test-image-${process.pid}:${target}`;
  if (built.has(tag)) return tag;
  const file = ["--file", "deploy/docker/Dockerfile", "--target", target, ...base];
  succeeded(docker(["build", ...file, "--tag", tag, "."]));
  built.add(tag);
  return tag;
}

function sizeOf(image: string): string {
  const bytes = succeeded(docker(["image", "inspect", "--format", "{{.Size}}", image])).trim();
  return `${image}: ${(Number(bytes) / 1e6).toFixed(0)} MB`;
}

const ROOM = ["--tmpfs", "/tmp:size=512m,mode=1777,exec"];

/** Runs a shell in the image as a cluster would: nothing but /tmp can be written, no capability, no network. */
function inside(image: string, script: string): string {
  const closed = ["--read-only", "--cap-drop", "ALL", "--network", "none", ...ROOM];
  return succeeded(
    docker(["run", "--rm", ...closed, "--entrypoint", "sh", image, "-c", script]),
  ).trim();
}

test(
  "all services are one image, without a name for its user, without tests and tools of development",
  { skip },
  (t) => {
    const image = imageOf("services", "SWITCHYARD_IMAGE");
    const [user, written, tests, tools, services, version] = inside(image, LOOK).split("\n--\n");
    assert.equal(user, "10001 10001");
    assert.match(String(written), /Read-only file system/);
    assert.equal(tests, "none");
    assert.equal(tools, "none");
    assert.equal(
      services,
      "agent-runner channels gateway mcp-broker policy scheduler skill-importer toolbox",
    );
    assert.match(String(version), /^\d+\.\d+\.\d+/);
    t.diagnostic(sizeOf(image));
  },
);

/** In one container, because each takes a second or two. */
const LOOK = `
echo "$(id -u) $(id -g)"; echo --
touch /app/x 2>&1; echo --
found=$(find /app -not -path '*/node_modules/*' \\( -name '*.test.ts' -o -name 'test-*' -o -path '*/test/*' \\)); echo "\${found:-none}"; echo --
found=$(for name in gcc cc make tsc oxlint knip git python3; do command -v $name; done
  ls /app/node_modules | grep -E '^(typescript|vite|oxlint|knip|playwright-core)$'); echo "\${found:-none}"; echo --
for file in services/*/src/main.ts; do basename "\${file%/src/main.ts}"; done | paste -sd' '; echo --
node apps/cli/src/main.ts --version`;

const layersOf = (image: string): string[] =>
  JSON.parse(succeeded(docker(["image", "inspect", "--format", "{{json .RootFS.Layers}}", image])));

test(
  "the image for MCP servers adds Python and Git to the same layers, and runs unprivileged, too",
  { skip },
  (t) => {
    const below = layersOf(imageOf("services", "SWITCHYARD_IMAGE"));
    const image = imageOf("mcp", "SWITCHYARD_MCP_IMAGE");
    assert.deepEqual(layersOf(image).slice(0, below.length), below);
    assert.equal(inside(image, "id -u"), "10001");
    const versions = inside(
      image,
      "export HOME=/tmp; node --version && npx --version && python3 --version && git --version",
    );
    assert.equal(versions.split("\n").length, 4);
    t.diagnostic(`${sizeOf(image)}; ${versions.replaceAll("\n", ", ")}`);
  },
);

test("the image for MCP servers has uv, which takes its Python", { skip }, () => {
  const image = imageOf("mcp", "SWITCHYARD_MCP_IMAGE");
  assert.match(inside(image, "uv --version && uvx --version"), /^uv .*\nuvx /);
});

test(
  "the image with coding CLIs adds them to the same layers, and runs unprivileged, too",
  { skip },
  (t) => {
    const below = layersOf(imageOf("services", "SWITCHYARD_IMAGE"));
    const image = imageOf("runtimes", "SWITCHYARD_RUNTIMES_IMAGE");
    assert.deepEqual(layersOf(image).slice(0, below.length), below);
    assert.equal(inside(image, "id -u"), "10001");
    const versions = inside(
      image,
      "for cli in claude codex gemini opencode; do HOME=/tmp $cli --version; done",
    );
    assert.equal(versions.match(/\d+\.\d+\.\d+/g)?.length, 4, versions);
    t.diagnostic(`${sizeOf(image)}; ${versions.replaceAll("\n", ", ")}`);
  },
);
